/// Text that is compared in a time that grows with its length. Swift compares and hashes strings by their normal form,
/// and sorts each run of combining marks for it, in the square of the run's length: 64 KiB of marks take half a second.
/// UAX #15 (13, Stream-Safe Text) knows no writing that needs more than thirty in a row.
package enum StreamSafeText {
  package static let marksMax = 30

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

  /// Below U+0300 nothing does.
  private static func combines(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x300 && scalar.properties.canonicalCombiningClass != .notReordered
  }
}
