/// The one directive of Cache-Control that decides how long a key set is kept (RFC 9111, 5.2.2).
enum CacheControl {
  /// nil where the field does not say; 0 for `no-store` and `no-cache`, which forbid any use without asking again.
  static func maxAgeSeconds(_ field: String) -> Int? {
    var seconds: Int?
    // Directives and their arguments are ASCII; texts of marks take the square of their length to compare.
    for part in field.utf8.split(separator: UInt8(ascii: ",")) where part.allSatisfy({ $0 < 0x80 }) {
      let directive = String(Substring(part)).lowercased().filter { $0 != " " && $0 != "\t" }
      if directive == "no-store" || directive == "no-cache" { return 0 }
      guard directive.hasPrefix("max-age=") else { continue }
      // The argument may come as a token or as a quoted string (5.2); of two, the shorter life is the safe one.
      let argument = directive.dropFirst("max-age=".count).filter { $0 != "\"" }
      guard !argument.isEmpty, argument.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { continue }
      // A number too large to be counted means "for ever" (1.2.2).
      let value = Int(argument) ?? Int.max
      seconds = min(seconds ?? value, value)
    }
    return seconds
  }
}
