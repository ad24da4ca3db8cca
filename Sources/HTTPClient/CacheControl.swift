/// The Cache-Control directives that decide how long a key set is cached (RFC 9111, 5.2.2).
enum CacheControl {
  /// Returns the maximum age, or nil if the field has none. Returns 0 for `no-store` and `no-cache`, which forbid reuse
  /// without validation.
  static func maxAgeSeconds(_ field: String) -> Int? {
    var seconds: Int?
    // Directives and their arguments are ASCII. Comparing strings of combining marks takes quadratic time.
    for part in field.utf8.split(separator: UInt8(ascii: ",")) where part.allSatisfy({ $0 < 0x80 }) {
      let directive = String(Substring(part)).lowercased().filter { $0 != " " && $0 != "\t" }
      if directive == "no-store" || directive == "no-cache" { return 0 }
      guard directive.hasPrefix("max-age=") else { continue }
      // The argument may be a token or a quoted string (5.2). Of two values, the smaller is the safe one.
      let argument = directive.dropFirst("max-age=".count).filter { $0 != "\"" }
      guard !argument.isEmpty, argument.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { continue }
      // A number that overflows counts as the largest one (1.2.2).
      let value = Int(argument) ?? Int.max
      seconds = min(seconds ?? value, value)
    }
    return seconds
  }
}
