/// What one thread keeps of what it read lately. An entry is believed while it is not older than the mark of the
/// account that it tells of.
///
/// A key has its place in one set of four, so that few entries push each other out before all is full.
final class MarkedCache<Key: Hashable, Value> {
  private struct Entry {
    let key: Key
    let value: Value
    /// Of the account's id.
    let hash: UInt64
    let commit: UInt64
  }

  private static var ways: Int { 4 }

  private var entries: [Entry?]
  private let marks: CommitMarks

  /// - Parameter room: for how many values, a multiple of four; 0 keeps none.
  init(room: Int, marks: CommitMarks) {
    precondition(room % MarkedCache.ways == 0)
    entries = Array(repeating: nil, count: room)
    self.marks = marks
  }

  /// nil: not known.
  func find(_ key: Key) -> Value? {
    for index in places(of: key) {
      guard let entry = entries[index], entry.key == key else { continue }
      return entry.commit >= marks.last(entry.hash) ? entry.value : nil
    }
    return nil
  }

  /// `commit` is that of before the snapshot in which the value was found; `hash` says which account it tells of. The
  /// key's older value makes room, or else the one that was read longest ago.
  func keep(_ value: Value, of key: Key, account hash: UInt64, asOf commit: UInt64) {
    guard commit >= marks.last(hash) else { return }
    let places = places(of: key)
    let place =
      places.first { entries[$0]?.key == key }
      ?? places.min { entries[$0]?.commit ?? 0 < entries[$1]?.commit ?? 0 }
    if let place { entries[place] = Entry(key: key, value: value, hash: hash, commit: commit) }
  }

  /// By a keyed hash, so that nobody can choose keys that push each other out.
  private func places(of key: Key) -> Range<Int> {
    guard !entries.isEmpty else { return 0..<0 }
    var hasher = Hasher()
    hasher.combine(key)
    let sets = UInt(entries.count / MarkedCache.ways)
    let first = Int(UInt(bitPattern: hasher.finalize()) % sets) * MarkedCache.ways
    return first..<first + MarkedCache.ways
  }
}
