/// Takes settings out of a tree one by one, each with its default, its limits and its line of documentation, and knows
/// in the end what nobody took.
struct SettingsReader {
  struct Line {
    var path: String
    var standard: String
    var meaning: String
  }

  private let prefix: String
  private var values: [String: ConfigNode]
  private let environment: [String: String]
  /// Every setting that was asked for, in order: what `--list-settings` prints.
  private(set) var lines: [Line] = []
  /// Every variable of the environment that was asked for, or that a setting names.
  private(set) var variables: Set<String> = []
  /// The elements of each list that were left out (`Settings.examine`).
  private(set) var leftOut: [String: [Int]] = [:]

  init(_ node: ConfigNode, prefix: String = "", environment: [String: String]) throws(ConfigurationError) {
    switch node {
    case .object(let values): self.values = values
    case .nothing: values = [:]
    default:
      let setting = prefix.isEmpty ? "the file" : String(prefix.dropLast())
      throw SettingsReader.wrong(at: setting, "it must be an object {…}", environment)
    }
    self.prefix = prefix
    self.environment = environment
  }

  // MARK: Kinds of settings

  mutating func text(_ name: String, _ standard: String, _ meaning: String) throws(ConfigurationError) -> String {
    note(name, "\"\(standard)\"", meaning)
    switch take(name) {
    case nil: return standard
    case .text(let text):
      if name.hasSuffix("_env") { variables.insert(text) }
      return text
    case .number, .flag:
      // An environment variable that looks like a number or a flag was taken for one.
      guard let text = environment[variable(name)] else { throw wrong(name, "it must be a text") }
      return text
    default: throw wrong(name, "it must be a text")
    }
  }

  mutating func flag(_ name: String, _ standard: Bool, _ meaning: String) throws(ConfigurationError) -> Bool {
    note(name, "\(standard)", meaning)
    switch take(name) {
    case nil: return standard
    case .flag(let flag): return flag
    default: throw wrong(name, "it must be true or false")
    }
  }

  mutating func integer(
    _ name: String, _ standard: Int, _ range: ClosedRange<Int>, _ meaning: String
  ) throws(ConfigurationError) -> Int {
    let bounds = "\(range.lowerBound) to \(range.upperBound)"
    note(name, "\(standard)", "\(meaning) (\(bounds))")
    switch take(name) {
    case nil: return standard
    case .number(let number):
      guard let whole = Int(exactly: number), range.contains(whole) else {
        throw wrong(name, "it must be a whole number from \(bounds)")
      }
      return whole
    default: throw wrong(name, "it must be a number")
    }
  }

  mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: String, _ standard: Choice, _ meaning: String
  ) throws(ConfigurationError) -> Choice where Choice.RawValue == String {
    let names = Choice.allCases.map(\.rawValue).joined(separator: " | ")
    let text = try text(name, standard.rawValue, "\(meaning) (\(names))")
    guard let choice = Choice(rawValue: text) else { throw wrong(name, "it must be one of \(names), not \(text)") }
    return choice
  }

  /// - Parameter patterns: whether `*` has a meaning there. Elsewhere a text with it would never be equal to anything.
  mutating func texts(
    _ name: String, _ standard: [String], patterns: Bool = false, _ meaning: String
  ) throws(ConfigurationError) -> [String] {
    note(name, "[\(standard.map { "\"\($0)\"" }.joined(separator: ", "))]", meaning)
    guard let node = take(name) else { return standard }
    let nodes: [ConfigNode]
    switch node {
    case .text: nodes = [node]
    case .list(let list): nodes = list
    default: throw wrong(name, "it must be a list of texts")
    }
    return try nodes.map { node throws(ConfigurationError) in
      guard case .text(let text) = node else { throw wrong(name, "it must be a list of texts") }
      guard patterns || !text.contains("*") else {
        throw wrong(name, "\(text) is compared byte for byte, and * stands for nothing else: list each one")
      }
      return text
    }
  }

  /// Whether somebody has set it, be it to what it is anyway.
  func isSet(_ name: String) -> Bool { values[name] != nil || environment[variable(name)] != nil }

  /// A group of settings; unknown names inside are refused when `read` returns.
  mutating func group<Value>(
    _ name: String, _ read: (inout SettingsReader) throws(ConfigurationError) -> Value
  ) throws(ConfigurationError) -> Value {
    // A group has no variable of its own: LATCHKEY_KEYS belongs to another program, and is a warning.
    let node = values.removeValue(forKey: name) ?? .nothing
    var reader = try SettingsReader(node, prefix: path(name) + ".", environment: environment)
    let value = try read(&reader)
    lines += reader.lines
    variables.formUnion(reader.variables)
    try reader.finish()
    return value
  }

  /// A list of groups, such as callers; `key` names the element in errors.
  mutating func groups<Value>(
    _ name: String, _ read: (inout SettingsReader) throws(ConfigurationError) -> Value
  ) throws(ConfigurationError) -> [Value] {
    let node = values.removeValue(forKey: name) ?? .nothing
    if case .nothing = node {
      // There is nothing to read, but the list of settings wants those of an element too.
      guard var element = try? SettingsReader(.nothing, prefix: path(name) + "[].", environment: [:]) else { return [] }
      _ = try? read(&element)
      lines += element.lines
      return []
    }
    guard case .list(let nodes) = node else { throw wrong(name, "it must be a list [ {…}, … ]") }
    var values: [Value] = []
    for (index, node) in nodes.enumerated() {
      if case .leftOut = node {
        leftOut[path(name), default: []].append(index)
        continue
      }
      // Elements have no environment variables: there is no telling which one would be meant.
      var reader = try SettingsReader(node, prefix: "\(path(name))[\(index)].", environment: [:])
      values.append(try read(&reader))
      variables.formUnion(reader.variables)
      try reader.finish()
    }
    return values
  }

  /// Refuses what nobody asked for: a misspelt setting must not be silently its default.
  func finish() throws(ConfigurationError) {
    guard let unknown = values.keys.sorted().first else { return }
    throw ConfigurationError(setting: path(unknown), why: "there is no such setting")
  }

  func wrong(_ name: String, _ why: String) -> ConfigurationError {
    SettingsReader.wrong(at: path(name), why, environment)
  }

  /// Who looks into the file for what the environment says looks for long.
  private static func wrong(at path: String, _ why: String, _ environment: [String: String]) -> ConfigurationError {
    let variable = variable(at: path)
    return ConfigurationError(setting: path, why: environment[variable] == nil ? why : "\(why) (\(variable) is set)")
  }

  // MARK: Inside

  private mutating func take(_ name: String) -> ConfigNode? {
    let inFile = values.removeValue(forKey: name)
    variables.insert(variable(name))
    if let text = environment[variable(name)] { return ConfigNode(environment: text) }
    if case .nothing? = inFile { return nil }
    return inFile
  }

  private mutating func note(_ name: String, _ standard: String, _ meaning: String) {
    lines.append(Line(path: path(name), standard: standard, meaning: meaning))
  }

  private func path(_ name: String) -> String { prefix + name }

  private func variable(_ name: String) -> String { SettingsReader.variable(at: path(name)) }

  /// `listen.port` is LATCHKEY_LISTEN_PORT.
  static func variable(at path: String) -> String {
    "LATCHKEY_" + path.map { $0 == "." ? "_" : $0.uppercased() }.joined()
  }
}
