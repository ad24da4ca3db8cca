internal import FoundationEssentials

/// A mix of workloads with weights.
struct Scenario: Sendable {
  struct Part: Sendable {
    var workload: Workload
    var weight: Int
  }

  static let weightMax = 1_000_000

  var parts: [Part]

  init(_ parts: [Part]) { self.parts = parts }

  /// Parses a JSON5 file: `{ mix: [{ workload: "fetch", weight: 60 }, …] }`.
  static func parse(_ bytes: [UInt8]) throws(ScenarioError) -> Scenario {
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    do {
      return Scenario(try decoder.decode(File.self, from: Data(bytes)).mix)
    } catch let error as DecodingError {
      throw ScenarioError(error)
    } catch {
      throw ScenarioError(setting: "the file", why: "\(error)")
    }
  }

  private struct File: Decodable {
    var mix: [Part]

    init(from decoder: any Decoder) throws {
      try refuseUnknown(["mix"], in: decoder)
      let container = try decoder.container(keyedBy: Key.self)
      mix = try container.decode([Part].self, forKey: Key("mix"))
      guard !mix.isEmpty else { throw invalid("mix", in: container, "it must list at least one workload") }
      // Reject duplicates, because each part of a mix would have its own users.
      let names = mix.map(\.workload.name)
      for (index, name) in names.enumerated() where names[..<index].contains(name) {
        throw invalid("mix", in: container, "\(name) is listed twice")
      }
    }
  }
}

extension Scenario.Part: Decodable {
  init(from decoder: any Decoder) throws {
    try refuseUnknown(["workload", "weight"], in: decoder)
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decode(String.self, forKey: Key("workload"))
    let workload = Workload(named: name)
    guard let workload, !workload.isHandshake else {
      let why = workload == nil ? "there is no workload \(name)" : "handshakes cannot be mixed with calls"
      throw invalid("workload", in: container, why)
    }
    let number = try container.decodeIfPresent(Double.self, forKey: Key("weight")) ?? 1
    guard let weight = Int(exactly: number), (1...Scenario.weightMax).contains(weight) else {
      throw invalid("weight", in: container, "it must be a whole number from 1 to \(Scenario.weightMax)")
    }
    self.init(workload: workload, weight: weight)
  }
}

/// An invalid setting in a scenario file, and why it is invalid.
struct ScenarioError: Error, Equatable, CustomStringConvertible {
  var setting: String
  var why: String

  var description: String { "\(setting): \(why)" }
}

extension ScenarioError {
  fileprivate init(_ error: DecodingError) {
    switch error {
    case .keyNotFound(let key, let context):
      self.init(setting: path(context.codingPath + [key]), why: "it is missing")
    case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
      self.init(setting: path(context.codingPath), why: "it must be \(ScenarioError.kind(type))")
    case .dataCorrupted(let context):
      let why = context.underlyingError.map { "\($0)" } ?? context.debugDescription
      self.init(setting: path(context.codingPath), why: context.codingPath.isEmpty ? "it is not JSON5: \(why)" : why)
    @unknown default: self.init(setting: "the file", why: "\(error)")
    }
  }

  private static func kind(_ type: any Any.Type) -> String {
    if type == String.self { return "a string" }
    if type == Double.self { return "a whole number" }
    return type is any RangeReplaceableCollection.Type ? "a list [ {…}, … ]" : "an object {…}"
  }
}

/// Formats the path of a setting, such as `mix[2].weight`.
private func path(_ keys: [any CodingKey]) -> String {
  guard !keys.isEmpty else { return "the file" }
  return keys.reduce("") { path, key in
    if let index = key.intValue { return path + "[\(index)]" }
    return path.isEmpty ? key.stringValue : path + "." + key.stringValue
  }
}

private func invalid(_ name: String, in container: KeyedDecodingContainer<Key>, _ why: String) -> DecodingError {
  .dataCorruptedError(forKey: Key(name), in: container, debugDescription: why)
}

/// Rejects unknown settings, so that a misspelt one is not ignored.
private func refuseUnknown(_ known: Set<String>, in decoder: any Decoder) throws {
  let container = try decoder.container(keyedBy: Key.self)
  guard let unknown = container.allKeys.first(where: { !known.contains($0.stringValue) }) else { return }
  throw invalid(unknown.stringValue, in: container, "there is no such setting")
}

private struct Key: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ name: String) {
    stringValue = name
    intValue = nil
  }

  init?(stringValue: String) { self.init(stringValue) }

  init?(intValue: Int) {
    stringValue = "\(intValue)"
    self.intValue = intValue
  }
}
