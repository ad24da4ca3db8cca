/// Formats Unix milliseconds as a timestamp that users and programs read: `2026-11-21T15:30:00.000Z`.
package func rfc3339(_ millis: Int64) -> String {
  var text: [UInt8] = []
  appendRFC3339(millis, to: &text)
  return String(decoding: text, as: UTF8.self)
}

package func appendRFC3339(_ millis: Int64, to line: inout [UInt8]) {
  let days = (millis >= 0 ? millis : millis - 86_399_999) / 86_400_000
  let date = CalendarDay(number: days)
  let time = millis - days * 86_400_000
  append(date.year, width: 4, "-", to: &line)
  append(date.month, width: 2, "-", to: &line)
  append(date.day, width: 2, "T", to: &line)
  append(time / 3_600_000, width: 2, ":", to: &line)
  append(time / 60_000 % 60, width: 2, ":", to: &line)
  append(time / 1_000 % 60, width: 2, ".", to: &line)
  append(time % 1_000, width: 3, "Z", to: &line)
}

/// Parses a UTC timestamp of RFC 3339 5.6 with at most nine fractional digits. Returns Unix milliseconds, or nil if the
/// text is not such a timestamp. A leap second is the first second of the next minute.
package func moment(ofRFC3339 text: String) -> Int64? {
  let pattern = /([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?Z/
  guard let match = text.wholeMatch(of: pattern) else { return nil }
  let (date, time) = (match.1 + match.2 + match.3, match.4 + match.5 + match.6)
  return moment(ofDigits: String(date + time) + ((match.7 ?? "") + "000").prefix(3))
}

/// Parses the 17 digits that `rfc3339` writes, with any other characters between them. Returns Unix milliseconds, or
/// nil if the digits are not a valid time.
package func moment(ofDigits text: String) -> Int64? {
  let zero = UInt8(ascii: "0")
  let digits = text.utf8.compactMap { zero...zero + 9 ~= $0 ? Int64($0 - zero) : nil }
  guard digits.count == 17 else { return nil }
  func number(_ range: Range<Int>) -> Int64 { digits[range].reduce(0) { $0 * 10 + $1 } }
  let date = CalendarDay(year: number(0..<4), month: number(4..<6), day: number(6..<8))
  let (hour, minute, millis) = (number(8..<10), number(10..<12), number(12..<17))
  guard date.exists, hour < 24, minute < 60, millis < 61_000 else { return nil }
  return ((date.number * 24 + hour) * 60 + minute) * 60_000 + millis
}

private func append(_ number: Int64, width: Int, _ end: Unicode.Scalar, to line: inout [UInt8]) {
  var scale: Int64 = 1
  for _ in 1..<width { scale *= 10 }
  while scale > 0 {
    line.append(UInt8(ascii: "0") + UInt8(number / scale % 10))
    scale /= 10
  }
  line.append(UInt8(ascii: end))
}
