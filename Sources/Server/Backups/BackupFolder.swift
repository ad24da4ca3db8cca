internal import Crypto
internal import Encodings
internal import Reactor
internal import Store

/// The files of the backup folder: how they are named, what of them is kept, and how one becomes whole. All of it
/// blocks.
final class BackupFolder: Sendable {
  private static let prefix = "latchkey-"
  /// The time, as RFC 3339 has it without its hyphens and colons, and what is random; 0 is any digit, f one of sixteen.
  private static let form = "00000000T000000.000Z-ffffffff"
  private static let suffix = ".db"
  /// What is behind the time.
  private static let tail = "-ffffffff.db".utf8.count
  /// Behind the name of a copy that is no backup yet. SQLite's files beside it begin alike.
  private static let draft = ".draft"

  private let folder: PrivateFolder
  private let keptMax: Int

  /// Takes the folder, and removes what an earlier life of the server has begun and not ended.
  /// - Parameter keptMax: how many backups stay; 0: all.
  init(_ path: String, keptMax: Int) throws {
    folder = try PrivateFolder(path)
    self.keptMax = keptMax
    for name in try folder.names() where BackupFolder.isDraft(name) { folder.remove(name) }
  }

  /// Names sort by the time in them. The rest keeps those of one moment apart.
  static func name(at now: Timestamp) -> String {
    let time = rfc3339(now.millis).filter { !"-:".contains($0) }
    return prefix + time + "-" + String(decoding: Hexadecimal.encode(Random.bytes(4)), as: UTF8.self) + suffix
  }

  /// Makes an empty file, and says where.
  func begin(_ name: String) throws -> String {
    try folder.create(name + BackupFolder.draft)
    return folder.place(of: name + BackupFolder.draft)
  }

  /// Length and digest of the whole draft, which is safe on the disk then.
  func seal(_ name: String, while isWanted: () -> Bool) throws -> (byteCount: Int64, sha256: Digest) {
    try folder.sync(name + BackupFolder.draft)
    let file = try FileReader(folder.place(of: name + BackupFolder.draft))
    let digest = SHA256()
    var byteCount: Int64 = 0
    while let bytes = try file.next() {
      guard isWanted() else { throw StoreCopyError.unwanted }
      digest.take(bytes)
      byteCount += Int64(bytes.count)
    }
    return (byteCount, Digest(digest.value()))
  }

  /// The draft is a backup from now on, or nothing.
  func publish(_ name: String) throws {
    try folder.rename(name + BackupFolder.draft, to: name)
    do {
      try folder.sync()
    } catch {
      folder.remove(name)
      throw error
    }
  }

  /// The oldest go that are too many; this one stays, whatever the clock says of the others.
  func makeRoom(beside name: String) throws {
    guard keptMax > 0 else { return }
    let others = try folder.names().filter { BackupFolder.isBackup($0) && $0 != name }
    for old in others.prefix(max(0, others.count + 1 - keptMax)) { folder.remove(old) }
  }

  /// Nothing is left of the draft.
  func discard(_ name: String) {
    let left = (try? folder.names()) ?? []
    for file in left where file.hasPrefix(name + BackupFolder.draft) { folder.remove(file) }
  }

  /// When the newest backup that is there was asked for.
  func newest() throws -> Timestamp? {
    guard let name = try folder.names().last(where: BackupFolder.isBackup) else { return nil }
    return moment(ofDigits: String(name.dropLast(BackupFolder.tail))).map(Timestamp.init(millis:))
  }

  /// Exactly of our form: the folder may be one with a database in it that is called much alike.
  private static func isBackup(_ name: some StringProtocol) -> Bool {
    let length = prefix.utf8.count + form.utf8.count
    guard name.hasPrefix(prefix), name.hasSuffix(suffix), name.utf8.count == length + suffix.utf8.count else {
      return false
    }
    return zip(name.utf8.dropFirst(prefix.utf8.count), form.utf8).allSatisfy { byte, sign in
      switch sign {
      case UInt8(ascii: "0"): UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
      case UInt8(ascii: "f"): Hexadecimal.digits.contains(byte)
      default: byte == sign
      }
    }
  }

  private static func isDraft(_ name: String) -> Bool {
    let length = prefix.count + form.count + suffix.count
    return isBackup(name.prefix(length)) && name.dropFirst(length).hasPrefix(draft)
  }
}
