import Glibc
import Store
import Synchronization

/// A cache of the sign-in methods of email addresses, shared by all readers without a lock.
///
/// The most frequent lookup would otherwise search three trees of the file. With a million accounts, their pages are in
/// no processor cache. The cache never returns data that an acknowledged change made obsolete. An entry states the
/// commit as of which it was read, and is valid while it is not older than the mark of its address.
@safe final class SignInMethodsCache: Sendable {
  /// An address as 64 bits of a keyed hash (SipHash with a seed of this process).
  ///
  /// With a million addresses, a lookup collides with probability 1 in 10^13, and an attacker cannot cause a collision.
  struct Key: Sendable {
    fileprivate let hash: UInt64

    init(_ query: SignInMethodsQuery) {
      var hasher = Hasher()
      query.hash(into: &hasher)
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

  /// Creates a cache with room for as many addresses as there are accounts, within the limit. Memory is allocated as it
  /// fills.
  init(accounts: Int, bytesMax: Int, marks: CommitMarks) {
    let entriesMax = max(1, bytesMax / SignInMethodsCache.entryBytes)
    var entries = 1
    while entries * 2 <= entriesMax, entries < max(accounts + accounts / 4, 1 << 15) { entries *= 2 }
    entryMask = UInt64(entries - 1)
    unsafe words = zeroedWords(entries * SignInMethodsCache.wordsPerEntry)
    self.marks = marks
  }

  deinit { unsafe free(words) }

  // MARK: Readers

  /// Returns what a lookup would find, which can be nothing. nil: not cached.
  func find(_ key: Key, _ names: ProviderNames) -> SignInMethodsRecord?? {
    let words = unsafe place(of: key)
    let check = unsafe words[0].load(ordering: .relaxed)
    let entry = unsafe Entry(
      commit: words[1].load(ordering: .relaxed), flags: words[2].load(ordering: .relaxed),
      providers: words[3].load(ordering: .relaxed))
    // If two readers write at the same time, the words may be mixed. The check then fails.
    let mark = marks.last(key.hash)
    guard entry.isKnown, check == key.hash ^ entry.mixed, entry.commit >= mark else { return nil }
    return .some(entry.record(names))
  }

  /// Caches a record.
  ///
  /// - Parameter commit: the last commit before the snapshot in which the record was found.
  func keep(_ record: SignInMethodsRecord?, _ key: Key, asOf commit: UInt64, _ names: ProviderNames) {
    guard commit >= marks.last(key.hash), let entry = Entry(record, asOf: commit, names) else { return }
    let words = unsafe place(of: key)
    unsafe words[1].store(entry.commit, ordering: .relaxed)
    unsafe words[2].store(entry.flags, ordering: .relaxed)
    unsafe words[3].store(entry.providers, ordering: .relaxed)
    unsafe words[0].store(key.hash ^ entry.mixed, ordering: .relaxed)
  }

  private func place(of key: Key) -> UnsafeMutablePointer<Atomic<UInt64>> {
    unsafe words + Int(key.hash & entryMask) * SignInMethodsCache.wordsPerEntry
  }

  // MARK: The writer

  /// Marks an address. The writer calls it before the commit of a change that may affect the address, whether or not
  /// the commit succeeds.
  func mark(_ email: String) {
    for linkedToo in [false, true] {
      marks.touch(Key(SignInMethodsQuery(email: email, includesLinkedEmail: linkedToo)).hash)
    }
  }

  // MARK: Provider ids

  /// Returns the number of a provider id, from 1. nil: there are more than a byte can count.
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

/// One reader's copy of the provider ids and their numbers, so that it locks the shared list only once per id.
final class ProviderNames {
  private let cache: SignInMethodsCache
  private var names: [String] = []
  private var numbers: [String: UInt8] = [:]

  init(_ cache: SignInMethodsCache) { self.cache = cache }

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

/// A record in three words. The last has one byte for each of up to eight providers.
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

  init?(_ record: SignInMethodsRecord?, asOf commit: UInt64, _ names: ProviderNames) {
    var flags = Entry.known
    var providers: UInt64 = 0
    if let record {
      guard record.providerIDs.count <= Entry.providersMax else { return nil }
      flags |= Entry.registered
      let facts = [
        record.hasPassword, record.emailLink, record.emailVerified, record.hasPhoneNumber, record.hasOnlyPhoneFactors,
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

  /// A mix of the words that differs if any word does, even if two of them differ in the same bits.
  var mixed: UInt64 {
    commit &* 0x9E37_79B9_7F4A_7C15 ^ flags &* 0xC2B2_AE3D_27D4_EB4F ^ providers &* 0xFF51_AFD7_ED55_8CCD
  }

  func record(_ names: ProviderNames) -> SignInMethodsRecord? {
    guard flags & Entry.registered != 0 else { return nil }
    var providerIDs: [String] = []
    var rest = providers
    while rest != 0 {
      providerIDs.append(names.name(UInt8(truncatingIfNeeded: rest)))
      rest >>= 8
    }
    return SignInMethodsRecord(
      hasPassword: flags & 4 != 0, emailLink: flags & 8 != 0, emailVerified: flags & 16 != 0,
      hasPhoneNumber: flags & 32 != 0, hasOnlyPhoneFactors: flags & 64 != 0, providerIDs: providerIDs)
  }
}
