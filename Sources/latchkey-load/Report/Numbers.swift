/// Formats a number with a fixed count of decimals.
func fixed(_ value: Double, digits: Int) -> String {
  var scale = 1.0
  for _ in 0..<digits { scale *= 10 }
  let scaled = Int((abs(value) * scale).rounded())
  let sign = value < 0 && scaled > 0 ? "-" : ""
  guard digits > 0 else { return sign + "\(scaled)" }
  let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: Int(scale))
  let behind = String(fraction)
  return "\(sign)\(whole)." + String(repeating: "0", count: digits - behind.count) + behind
}

/// Formats an integer with separators, such as 1,234,567.
func grouped(_ value: Int) -> String {
  var text = ""
  for (index, digit) in String(value.magnitude).reversed().enumerated() {
    if index > 0, index.isMultiple(of: 3) { text.append(",") }
    text.append(digit)
  }
  return (value < 0 ? "-" : "") + String(text.reversed())
}

/// Formats microseconds as milliseconds with three significant digits: 0.123, 1.23, 12.3, 123.
func millis(_ micros: Double) -> String {
  let millis = micros / 1_000
  let digits = millis < 1 ? 3 : millis < 10 ? 2 : millis < 100 ? 1 : 0
  return fixed(millis, digits: digits)
}

extension String {
  func padded(left width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
  func padded(right width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
