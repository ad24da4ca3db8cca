// Comparing and copying of header names and values. Unsafe, because each request has about twenty of them. The bounds
// checks of the standard library would cost a twentieth of all instructions of a health check.
extension Span<UInt8> {
  func isText(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    let expected = unsafe text.utf8Start
    for index in 0..<count {
      guard unsafe self[index] == expected[index] else { return false }
    }
    return true
  }

  var array: [UInt8] { unsafe withUnsafeBufferPointer { unsafe Array($0) } }
}
