/// Reader that takes settings from a tree one by one, each with its default, limits and description. At the end it
/// reports unknown settings.
struct SettingsReader {
  struct Line {
    var path: String
    var standard: String
    var meaning: String
  }

  private let prefix: String
  private var values: [String: ConfigNode]
  private let environment: [String: String]
  /// All settings read so far, in order, for `--list-settings`.
  private(set) var lines: [Line] = []
  /// All environment variables that settings have or name.
  private(set) var variables: Set<String> = []
  /// The value of each setting that was read, its default included, as `--list-settings` writes it. The name of a list
  /// element contains its own name instead of its index: `callers[web].merge`.
  private(set) var effective: [String: String] = [:]
  /// Indexes of the skipped elements of each list (`Settings.examine`).
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
      // An environment variable that looks like a number or a flag was parsed as one.
      guard let text = environment[variable(name)] else { throw wrong(name, "it must be a string") }
      return text
    default: throw wrong(name, "it must be a string")
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

  /// Reads a number from 0 to 1.
  mutating func share(_ name: String, _ standard: Double, _ meaning: String) throws(ConfigurationError) -> Double {
    note(name, "\(standard)", "\(meaning) (0 to 1)")
    switch take(name) {
    case nil: return standard
    case .number(let number) where (0...1).contains(number): return number
    default: throw wrong(name, "it must be a number from 0 to 1")
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

  /// Reads a list of strings.
  /// - Parameter patterns: whether `*` is a wildcard. Otherwise an entry with `*` could never match and is an error.
  mutating func texts(
    _ name: String, _ standard: [String], patterns: Bool = false, _ meaning: String
  ) throws(ConfigurationError) -> [String] {
    note(name, "[\(standard.map { "\"\($0)\"" }.joined(separator: ", "))]", meaning)
    guard let node = take(name) else { return standard }
    let nodes: [ConfigNode]
    switch node {
    case .text: nodes = [node]
    case .list(let list): nodes = list
    default: throw wrong(name, "it must be a list of strings")
    }
    return try nodes.map { node throws(ConfigurationError) in
      guard case .text(let text) = node else { throw wrong(name, "it must be a list of strings") }
      guard patterns || !text.contains("*") else {
        throw wrong(name, "\(text) must match exactly, and * is not a wildcard: list each value")
      }
      return text
    }
  }

  /// Whether the setting is set, even to its default.
  func isSet(_ name: String) -> Bool { values[name] != nil || environment[variable(name)] != nil }

  /// Reads a group of settings. Throws for unknown names in it when `read` returns.
  mutating func group<Value>(
    _ name: String, _ read: (inout SettingsReader) throws(ConfigurationError) -> Value
  ) throws(ConfigurationError) -> Value {
    // A group has no variable of its own. LATCHKEY_KEYS, for example, causes a warning.
    let node = values.removeValue(forKey: name) ?? .nothing
    var reader = try SettingsReader(node, prefix: path(name) + ".", environment: environment)
    let value = try read(&reader)
    lines += reader.lines
    variables.formUnion(reader.variables)
    effective.merge(reader.effective) { $1 }
    leftOut.merge(reader.leftOut) { $1 }
    try reader.finish()
    return value
  }

  /// Reads a list of groups, such as `callers`.
  mutating func groups<Value>(
    _ name: String, _ read: (inout SettingsReader) throws(ConfigurationError) -> Value
  ) throws(ConfigurationError) -> [Value] {
    let node = values.removeValue(forKey: name) ?? .nothing
    if case .nothing = node {
      // Nothing to read, but the list of settings needs those of an element.
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
      // Elements have no environment variables, since a name could not select one of them.
      var reader = try SettingsReader(node, prefix: "\(path(name))[\(index)].", environment: [:])
      values.append(try read(&reader))
      variables.formUnion(reader.variables)
      leftOut.merge(reader.leftOut) { $1 }
      effective.merge(reader.named(path(name), index)) { $1 }
      try reader.finish()
    }
    return values
  }

  /// Throws if an unknown setting is left: a misspelt setting must not silently have its default.
  func finish() throws(ConfigurationError) {
    guard let unknown = values.keys.sorted().first else { return }
    throw ConfigurationError(setting: path(unknown), why: "there is no such setting")
  }

  func wrong(_ name: String, _ why: String) -> ConfigurationError {
    SettingsReader.wrong(at: path(name), why, environment)
  }

  /// Creates an error. It names the environment variable if one overrides the file.
  private static func wrong(at path: String, _ why: String, _ environment: [String: String]) -> ConfigurationError {
    let variable = variable(at: path)
    return ConfigurationError(setting: path, why: environment[variable] == nil ? why : "\(why) (\(variable) is set)")
  }

  // MARK: Helpers

  private mutating func take(_ name: String) -> ConfigNode? {
    let inFile = values.removeValue(forKey: name)
    variables.insert(variable(name))
    var node = inFile
    if let text = environment[variable(name)] { node = ConfigNode(environment: text) }
    guard let node, !node.isNothing else { return nil }
    effective[path(name)] = node.text
    return node
  }

  /// Returns `effective` of a list element under the name of the element, or under its index if it has none.
  private func named(_ list: String, _ index: Int) -> [String: String] {
    let name = ["id", "name", "issuer"].lazy.compactMap { effective[path($0)]?.dropFirst().dropLast() }
      .first { !$0.isEmpty }
    let place = "\(list)[\(name.map(String.init) ?? "\(index)")]."
    return Dictionary(uniqueKeysWithValues: effective.map { (place + $0.key.dropFirst(prefix.count), $0.value) })
  }

  private mutating func note(_ name: String, _ standard: String, _ meaning: String) {
    effective[path(name)] = standard
    lines.append(Line(path: path(name), standard: standard, meaning: meaning))
  }

  private func path(_ name: String) -> String { prefix + name }

  private func variable(_ name: String) -> String { SettingsReader.variable(at: path(name)) }

  /// Returns the environment variable of a setting: LATCHKEY_LISTEN_PORT for `listen.port`.
  static func variable(at path: String) -> String {
    "LATCHKEY_" + path.map { $0 == "." ? "_" : $0.uppercased() }.joined()
  }
}
