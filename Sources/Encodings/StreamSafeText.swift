/// Text that Swift can compare in time proportional to its length.
///
/// Swift compares and hashes strings by their normal form. For that it sorts each run of combining marks, in time
/// quadratic in the length of the run: 64 KiB of marks take half a second. According to UAX #15 (13, Stream-Safe Text),
/// no writing system needs more than thirty in a row.
package enum StreamSafeText {
  package static let marksMax = 30

  /// Reports whether no run of combining marks is longer than `marksMax`.
  package static func holds(_ text: borrowing UTF8Span) -> Bool {
    guard !text.isKnownASCII else { return true }
    var scalars = text.makeUnicodeScalarIterator()
    var marks = 0
    while let scalar = scalars.next() {
      marks = combines(scalar) ? marks + 1 : 0
      if marks > marksMax { return false }
    }
    return true
  }

  package static func holds(_ text: String) -> Bool { holds(text.utf8Span) }

  /// Reports whether a scalar is a combining mark. None is below U+0300.
  private static func combines(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x300 && scalar.properties.canonicalCombiningClass != .notReordered
  }
}
