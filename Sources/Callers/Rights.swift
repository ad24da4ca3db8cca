/// The methods that a caller may use, by their number in the method table.
package struct Rights: Sendable {
  /// Methods that an unidentified caller may never use, regardless of the configuration.
  package static let identifiedOnly = [
    "latchkey.v1.AdminService/", "latchkey.v1.EventService/", "latchkey.v1.AccountService/Merge",
  ]

  private let allowed: [Bool]

  package init(_ patterns: [String], paths: [String], isIdentified: Bool) {
    allowed = paths.map { path in
      let name = path.dropFirst()
      guard isIdentified || !Rights.identifiedOnly.contains(where: name.hasPrefix) else { return false }
      return patterns.contains { Rights.matches(pattern: $0, name: name) }
    }
  }

  package func include(methodNumber: Int) -> Bool { allowed[methodNumber] }

  private static func matches(pattern: String, name: Substring) -> Bool {
    if pattern == "*" { return true }
    if pattern.hasSuffix("/*") { return name.hasPrefix(pattern.dropLast()) }
    return pattern == name
  }
}
