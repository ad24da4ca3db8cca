import Glibc
import Store
import Synchronization

/// How the owners of addresses sign in, kept in memory beside the file: the question asked most often would else walk
/// three trees of the file, whose pages are in no cache of the processor once there are a million accounts.
///
/// One table for all readers, without a lock. It never tells anything that an acknowledged change made untrue: an entry
/// says as of which commit it was read, and is believed while it is not older than the mark of its address.
@safe final class WaysInCache: Sendable {
  /// 64 bits of a keyed hash (SipHash with a seed of this process) stand for an address: that two of a million share
  /// one is a matter of 1 in 10^13 for each address that is asked for, and nobody can bring it about.
  struct Key: Sendable {
    fileprivate let hash: UInt64

    init(_ email: String, linkedToo: Bool) {
      var hasher = Hasher()
      hasher.combine(email)
      hasher.combine(linkedToo)
      hash = UInt64(bitPattern: Int64(hasher.finalize()))
    }
  }

  /// Check, commit, flags, providers.
  private static let wordsPerEntry = 4
  static let entryBytes = wordsPerEntry * 8

  private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>
  private let entryMask: UInt64
  private let marks: CommitMarks
  /// Provider ids by their number in an entry.
  private let providerIDs = Mutex<[String]>([])

  /// Room for as many addresses as there are accounts, within the limit. Memory is taken as it is filled.
  init(accounts: Int, bytesMax: Int, marks: CommitMarks) {
    let entriesMax = max(1, bytesMax / WaysInCache.entryBytes)
    var entries = 1
    while entries * 2 <= entriesMax, entries < max(accounts + accounts / 4, 1 << 15) { entries *= 2 }
    entryMask = UInt64(entries - 1)
    unsafe words = zeroedWords(entries * WaysInCache.wordsPerEntry)
    self.marks = marks
  }

  deinit { unsafe free(words) }

  // MARK: Readers

  /// nil: not known. Otherwise what a look-up would find, which can be nothing.
  func find(_ key: Key, _ names: ProviderNames) -> WaysInRecord?? {
    let words = unsafe place(of: key)
    let check = unsafe words[0].load(ordering: .relaxed)
    let entry = unsafe Entry(
      commit: words[1].load(ordering: .relaxed), flags: words[2].load(ordering: .relaxed),
      providers: words[3].load(ordering: .relaxed))
    // The words may be of two readers that keep at once: then the check does not hold.
    let mark = marks.last(key.hash)
    guard entry.isKnown, check == key.hash ^ entry.mixed, entry.commit >= mark else { return nil }
    return .some(entry.record(names))
  }

  /// `commit` is that of before the snapshot in which the record was found.
  func keep(_ record: WaysInRecord?, _ key: Key, asOf commit: UInt64, _ names: ProviderNames) {
    guard commit >= marks.last(key.hash), let entry = Entry(record, asOf: commit, names) else { return }
    let words = unsafe place(of: key)
    unsafe words[1].store(entry.commit, ordering: .relaxed)
    unsafe words[2].store(entry.flags, ordering: .relaxed)
    unsafe words[3].store(entry.providers, ordering: .relaxed)
    unsafe words[0].store(key.hash ^ entry.mixed, ordering: .relaxed)
  }

  private func place(of key: Key) -> UnsafeMutablePointer<Atomic<UInt64>> {
    unsafe words + Int(key.hash & entryMask) * WaysInCache.wordsPerEntry
  }

  // MARK: The writer

  /// Before the commit of a change that may touch what the address finds, whether or not the commit succeeds.
  func mark(_ email: String) {
    for linkedToo in [false, true] { marks.touch(Key(email, linkedToo: linkedToo).hash) }
  }

  // MARK: Provider ids

  /// The number of a provider id, from 1; nil: there are more than a byte can count.
  fileprivate func number(_ providerID: String) -> UInt8? {
    providerIDs.withLock { known in
      if let index = known.firstIndex(of: providerID) { return UInt8(index + 1) }
      guard known.count < UInt8.max else { return nil }
      known.append(providerID)
      return UInt8(known.count)
    }
  }

  fileprivate var knownProviderIDs: [String] { providerIDs.withLock { $0 } }
}

/// What one reader knows of the numbers that stand for provider ids, so that it asks for each but once.
final class ProviderNames {
  private let cache: WaysInCache
  private var names: [String] = []
  private var numbers: [String: UInt8] = [:]

  init(_ cache: WaysInCache) { self.cache = cache }

  func name(_ number: UInt8) -> String {
    if number > names.count { names = cache.knownProviderIDs }
    return names[Int(number) - 1]
  }

  func number(_ name: String) -> UInt8? {
    if let number = numbers[name] { return number }
    let number = cache.number(name)
    numbers[name] = number
    return number
  }
}

/// A record in three words; the last has a byte for each of at most eight providers.
private struct Entry {
  private static let known: UInt64 = 1
  private static let registered: UInt64 = 2
  private static let providersMax = 8

  let commit: UInt64
  let flags: UInt64
  let providers: UInt64

  init(commit: UInt64, flags: UInt64, providers: UInt64) {
    self.commit = commit
    self.flags = flags
    self.providers = providers
  }

  init?(_ record: WaysInRecord?, asOf commit: UInt64, _ names: ProviderNames) {
    var flags = Entry.known
    var providers: UInt64 = 0
    if let record {
      guard record.providerIDs.count <= Entry.providersMax else { return nil }
      flags |= Entry.registered
      let facts = [
        record.hasPassword, record.emailLink, record.emailProved, record.hasPhoneNumber, record.hasOnlyPhoneFactors,
      ]
      for (bit, isSet) in facts.enumerated() where isSet { flags |= 4 << UInt64(bit) }
      for providerID in record.providerIDs.reversed() {
        guard let number = names.number(providerID) else { return nil }
        providers = providers << 8 | UInt64(number)
      }
    }
    self.init(commit: commit, flags: flags, providers: providers)
  }

  var isKnown: Bool { flags & Entry.known != 0 }

  /// Differs wherever any of the words does, also where two of them differ in the same bits.
  var mixed: UInt64 {
    commit &* 0x9E37_79B9_7F4A_7C15 ^ flags &* 0xC2B2_AE3D_27D4_EB4F ^ providers &* 0xFF51_AFD7_ED55_8CCD
  }

  func record(_ names: ProviderNames) -> WaysInRecord? {
    guard flags & Entry.registered != 0 else { return nil }
    var providerIDs: [String] = []
    var rest = providers
    while rest != 0 {
      providerIDs.append(names.name(UInt8(truncatingIfNeeded: rest)))
      rest >>= 8
    }
    return WaysInRecord(
      hasPassword: flags & 4 != 0, emailLink: flags & 8 != 0, emailProved: flags & 16 != 0,
      hasPhoneNumber: flags & 32 != 0, hasOnlyPhoneFactors: flags & 64 != 0, providerIDs: providerIDs)
  }
}
