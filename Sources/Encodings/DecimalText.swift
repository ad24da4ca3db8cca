/// An integer as decimal digits, written without the intermediate string of `description`.
package enum DecimalText {
  package static func append(_ value: Int64, to bytes: inout [UInt8]) {
    if value < 0 { bytes.append(UInt8(ascii: "-")) }
    // 2^63, the largest magnitude, has 19 digits.
    var digits = InlineArray<19, UInt8>(repeating: UInt8(ascii: "0"))
    var rest = value.magnitude
    var first = digits.count
    repeat {
      first -= 1
      digits[first] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    } while rest > 0
    for index in first..<digits.count { bytes.append(digits[index]) }
  }
}
