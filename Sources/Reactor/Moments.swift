/// A moment as people and programs read it: `2026-11-21T15:30:00.000Z`.
package func rfc3339(_ millis: Int64) -> String {
  var text: [UInt8] = []
  appendRFC3339(millis, to: &text)
  return String(decoding: text, as: UTF8.self)
}

/// Days are counted from 0000-03-01, so that a leap day is the last of its year.
package func appendRFC3339(_ millis: Int64, to line: inout [UInt8]) {
  let days = (millis >= 0 ? millis : millis - 86_399_999) / 86_400_000
  let shifted = days + 719_468
  let era = shifted / 146_097
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let shiftedMonth = (5 * dayOfYear + 2) / 153
  let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
  let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  let time = millis - days * 86_400_000
  append(year, width: 4, "-", to: &line)
  append(month, width: 2, "-", to: &line)
  append(day, width: 2, "T", to: &line)
  append(time / 3_600_000, width: 2, ":", to: &line)
  append(time / 60_000 % 60, width: 2, ":", to: &line)
  append(time / 1_000 % 60, width: 2, ".", to: &line)
  append(time % 1_000, width: 3, "Z", to: &line)
}

/// The moment of which `rfc3339` has made these digits, whatever stands between them; nil: too few or too many.
package func moment(ofDigits text: String) -> Int64? {
  let zero = UInt8(ascii: "0")
  let digits = text.utf8.compactMap { zero...zero + 9 ~= $0 ? Int64($0 - zero) : nil }
  guard digits.count == 17 else { return nil }
  func number(_ range: Range<Int>) -> Int64 { digits[range].reduce(0) { $0 * 10 + $1 } }
  let (month, day) = (number(4..<6), number(6..<8))
  let year = number(0..<4) - (month <= 2 ? 1 : 0)
  let dayOfYear = (153 * (month <= 2 ? month + 9 : month - 3) + 2) / 5 + day - 1
  let days = 365 * year + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
  let minutes = number(8..<10) * 60 + number(10..<12)
  return (days * 1_440 + minutes) * 60_000 + number(12..<17)
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
