/// A hash table from a method path to its index in the list. Matches bytes exactly, without making a String (R4).
package struct MethodTable: Sendable {
  private struct Slot {
    var path: [UInt8]
    var number: Int
  }

  private var slots: [Slot?]

  /// Builds the table.
  ///
  /// - Parameter paths: distinct paths of the form `/package.Service/Method`.
  package init(_ paths: [String]) {
    var size = 16
    while size < paths.count * 4 { size *= 2 }
    slots = Array(repeating: nil, count: size)
    for (number, path) in paths.enumerated() {
      let bytes = Array(path.utf8)
      precondition(self[bytes] == nil, "\(path) is served twice")
      var at = MethodTable.hash(bytes) & (size - 1)
      while slots[at] != nil { at = (at + 1) & (size - 1) }
      slots[at] = Slot(path: bytes, number: number)
    }
  }

  package subscript(path: [UInt8]) -> Int? {
    var at = MethodTable.hash(path) & (slots.count - 1)
    while let slot = slots[at] {
      if slot.path == path { return slot.number }
      at = (at + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Computes FNV-1a, which suits short keys. The table is at most a quarter full.
  private static func hash(_ bytes: [UInt8]) -> Int {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return Int(truncatingIfNeeded: hash ^ hash >> 32)
  }
}
