/// A cache of one thread's recent reads. An entry is valid while it is not older than the mark of its account.
///
/// A key maps to a set of four entries, so that few entries evict each other before the cache is full.
final class MarkedCache<Key: Hashable, Value> {
  private struct Entry {
    let key: Key
    let value: Value
    /// The hash of the account's id.
    let hash: UInt64
    let commit: UInt64
  }

  private static var ways: Int { 4 }

  private var entries: [Entry?]
  private let marks: CommitMarks

  /// - Parameter room: the number of values, a multiple of four. 0 caches none.
  init(room: Int, marks: CommitMarks) {
    precondition(room % MarkedCache.ways == 0)
    entries = Array(repeating: nil, count: room)
    self.marks = marks
  }

  /// nil: not cached.
  func find(_ key: Key) -> Value? {
    for index in places(of: key) {
      guard let entry = entries[index], entry.key == key else { continue }
      return entry.commit >= marks.last(entry.hash) ? entry.value : nil
    }
    return nil
  }

  /// Caches a value. It replaces an older value of the key, or else the entry that was read longest ago.
  ///
  /// - Parameter hash: the hash of the account that the value belongs to.
  /// - Parameter commit: the last commit before the snapshot in which the value was found.
  func keep(_ value: Value, of key: Key, account hash: UInt64, asOf commit: UInt64) {
    guard commit >= marks.last(hash) else { return }
    let places = places(of: key)
    let place =
      places.first { entries[$0]?.key == key }
      ?? places.min { entries[$0]?.commit ?? 0 < entries[$1]?.commit ?? 0 }
    if let place { entries[place] = Entry(key: key, value: value, hash: hash, commit: commit) }
  }

  /// Returns the entries of a key, chosen by a keyed hash. An attacker cannot choose keys that evict each other.
  private func places(of key: Key) -> Range<Int> {
    guard !entries.isEmpty else { return 0..<0 }
    var hasher = Hasher()
    hasher.combine(key)
    let sets = UInt(entries.count / MarkedCache.ways)
    let first = Int(UInt(bitPattern: hasher.finalize()) % sets) * MarkedCache.ways
    return first..<first + MarkedCache.ways
  }
}
