/// A set of texts in eight bytes each: the first eight bytes of their SHA-256, sorted.
///
/// A text that is not in a set of n counts as one of it with a probability of n / 2^64.
package struct DigestSet: Sendable {
  private let digests: [UInt64]

  /// - Parameter digests: results of `digest`, in any order.
  package init(_ digests: [UInt64]) { self.digests = digests.sorted() }

  package static func digest(_ text: [UInt8]) -> UInt64 {
    let digest = sha256(text)
    var first: UInt64 = 0
    for index in 0..<8 { first = first << 8 | UInt64(digest[index]) }
    return first
  }

  package var count: Int { digests.count }

  package func contains(_ text: [UInt8]) -> Bool {
    let wanted = DigestSet.digest(text)
    var (low, high) = (0, digests.count)
    while low < high {
      let middle = low + (high - low) / 2
      if digests[middle] == wanted { return true }
      if digests[middle] < wanted { low = middle + 1 } else { high = middle }
    }
    return false
  }
}
