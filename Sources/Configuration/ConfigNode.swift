internal import FoundationEssentials

/// A configuration file as a tree, before its settings are read. The format is JSON5, since operators need comments and
/// trailing commas.
package enum ConfigNode: Decodable, Sendable {
  case object([String: ConfigNode])
  case list([ConfigNode])
  case text(String)
  case number(Double)
  case flag(Bool)
  case nothing
  /// A list element that is skipped after an error in it (`Settings.examine`).
  case leftOut

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .nothing
    } else if let flag = try? container.decode(Bool.self) {
      self = .flag(flag)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let list = try? container.decode([ConfigNode].self) {
      self = .list(list)
    } else {
      self = .object(try container.decode([String: ConfigNode].self))
    }
  }

  var isNothing: Bool { if case .nothing = self { true } else { false } }

  /// The value as `--list-settings` writes defaults.
  var text: String {
    switch self {
    case .text(let text): "\"\(text)\""
    case .number(let number): Int(exactly: number).map { "\($0)" } ?? "\(number)"
    case .flag(let flag): "\(flag)"
    case .list(let nodes): "[\(nodes.map(\.text).joined(separator: ", "))]"
    case .object, .nothing, .leftOut: ""
    }
  }

  static func parse(_ bytes: [UInt8]) throws(ConfigurationError) -> ConfigNode {
    // The decoder traps on some invalid UTF-8.
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw ConfigurationError(setting: "the file", why: "it is not UTF-8")
    }
    if let place = UnfinishedNumber.first(in: bytes).map({ FilePlace(of: $0, in: bytes) }) {
      throw ConfigurationError(setting: "the file", why: "it is not JSON5: \(place): a number is incomplete")
    }
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    let node: ConfigNode
    do {
      // The decoder reads the byte after a number, even at the end of the file.
      node = try decoder.decode(ConfigNode.self, from: Data(bytes + [UInt8(ascii: "\n")]))
    } catch {
      let fault = FileScan(bytes).fault.map { "\(FilePlace(of: $0.at, in: bytes)): \($0.why)" }
      throw ConfigurationError(setting: "the file", why: "it is not JSON5: \(fault ?? reason(error))")
    }
    // The decoder would silently use one of the two.
    if let twice = FileScan(bytes).repetition {
      let lines = [twice.first, twice.second].map { FilePlace(of: $0, in: bytes).line }
      throw ConfigurationError(
        setting: twice.path.isEmpty ? "the file" : twice.path,
        why: "it appears twice (lines \(lines[0]) and \(lines[1]))")
    }
    return node
  }

  private static func reason(_ error: any Error) -> String {
    switch error as? DecodingError {
    case .dataCorrupted(let context)?: context.underlyingError.map { "\($0)" } ?? context.debugDescription
    // A value of a known type that is out of range, such as 1e400.
    case .typeMismatch(_, let context)?:
      "a value cannot be read: \(context.codingPath.map(\.stringValue).joined(separator: "."))"
    default: "\(error)"
    }
  }

  /// Converts an environment variable to the type that its text suggests.
  init(environment text: String) {
    switch text {
    case "true": self = .flag(true)
    case "false": self = .flag(false)
    default: self = Double(text).map(ConfigNode.number) ?? .text(text)
    }
  }
}

/// An error in the configuration. Its description is one line: the setting and the reason, with control characters
/// escaped.
package struct ConfigurationError: Error, Hashable, CustomStringConvertible {
  package var setting: String
  package var why: String
  /// The same configuration may work later.
  package var isPassing: Bool

  package init(setting: String, why: String, isPassing: Bool = false) {
    self.setting = setting
    self.why = why
    self.isPassing = isPassing
  }

  package var description: String {
    let line = "\(setting): \(why)".unicodeScalars.map { scalar in
      scalar.properties.generalCategory == .control ? scalar.escaped(asASCII: true) : String(scalar)
    }
    return line.joined()
  }
}
