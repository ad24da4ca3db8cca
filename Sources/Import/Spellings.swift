internal import Encodings

/// Base64 in either alphabet, padded or not: files of Firebase have one, its interface the other.
package enum AnyBase64 {
  /// nil: it is neither.
  package static func decode(_ text: String) -> [UInt8]? {
    Base64.decode(
      text.utf8.map { byte in
        switch byte {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: byte
        }
      })
  }
}

/// RFC 3339 5.6, in UTC, as Firebase writes it.
enum RFC3339 {
  /// nil: it is no such moment.
  static func millis(_ text: String) -> Int64? {
    let pattern = /([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?Z/
    guard let match = text.wholeMatch(of: pattern), let year = Int64(match.1), let month = Int64(match.2),
      let day = Int64(match.3), let hour = Int64(match.4), let minute = Int64(match.5), let second = Int64(match.6),
      1...12 ~= month, 1...daysOf(month, year) ~= day, hour < 24, minute < 60, second <= 60
    else { return nil }
    let fraction = (String(match.7 ?? "") + "000").prefix(3)
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    return Int64(fraction).map { seconds * 1_000 + $0 }
  }

  private static func daysOf(_ month: Int64, _ year: Int64) -> Int64 {
    let next = month == 12 ? days(year + 1, 1, 1) : days(year, month + 1, 1)
    return next - days(year, month, 1)
  }

  /// From 1970-01-01 on: a year begins in March here, so that a leap day is its last.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let years = month > 2 ? year : year - 1
    let months = (month + 9) % 12
    return years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 719_469
  }
}
