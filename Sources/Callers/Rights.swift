/// The methods that a caller may use, by their number in the method table.
///
/// A class, because each call copies its caller.
package final class Rights: Sendable {
  /// Methods that an unidentified caller may never use, regardless of the configuration.
  package static let identifiedOnly = [
    "latchkey.v1.AdminService/", "latchkey.v1.EventService/", "latchkey.v1.AccountService/Merge",
  ]

  private let patterns: [String]
  private let isIdentified: Bool
  private let allowed: [Bool]

  package init(_ patterns: [String], paths: [String], isIdentified: Bool) {
    self.patterns = patterns
    self.isIdentified = isIdentified
    allowed = paths.map { Rights.include(path: $0, patterns, isIdentified: isIdentified) }
  }

  package func include(methodNumber: Int) -> Bool { allowed[methodNumber] }

  /// Reports whether the caller may also use another method than the one that it calls.
  package func include(path: String) -> Bool {
    Rights.include(path: path, patterns, isIdentified: isIdentified)
  }

  private static func include(path: String, _ patterns: [String], isIdentified: Bool) -> Bool {
    let name = path.dropFirst()
    guard isIdentified || !identifiedOnly.contains(where: name.hasPrefix) else { return false }
    return patterns.contains { matches(pattern: $0, name: name) }
  }

  private static func matches(pattern: String, name: Substring) -> Bool {
    if pattern == "*" { return true }
    if pattern.hasSuffix("/*") { return name.hasPrefix(pattern.dropLast()) }
    return pattern == name
  }
}
