internal import Crypto
internal import Encodings
internal import Reactor
internal import Store

/// Files of the backup folder: their names, their retention and their publication. All functions block.
final class BackupFolder: Sendable {
  private static let prefix = "latchkey-"
  /// Form of the time and the random part: RFC 3339 without hyphens and colons. 0 stands for any digit, f for any
  /// hexadecimal digit.
  private static let form = "00000000T000000.000Z-ffffffff"
  private static let suffix = ".db"
  /// Length of the part after the time.
  private static let tail = "-ffffffff.db".utf8.count
  /// Suffix of an unfinished backup. SQLite's auxiliary files have names that start with it.
  private static let draft = ".draft"
  /// Suffix of the file with the digest, in the format of `sha256sum`. `latchkey restore` reads it.
  private static let digest = ".sha256"

  private let folder: PrivateFolder
  private let keptMax: Int

  /// Locks the folder and removes unfinished backups of earlier runs, and digests without a backup.
  /// - Parameter keptMax: maximum number of backups to keep; 0 keeps all.
  init(_ path: String, keptMax: Int) throws {
    folder = try PrivateFolder(path)
    self.keptMax = keptMax
    let names = Set(try folder.names())
    for name in names where BackupFolder.isDraft(name) { folder.remove(name) }
    for name in names where name.hasSuffix(BackupFolder.digest) {
      let backup = name.dropLast(BackupFolder.digest.count)
      if BackupFolder.isBackup(backup), !names.contains(String(backup)) { folder.remove(name) }
    }
  }

  /// Returns a file name that sorts by its time. A random part distinguishes names with the same time.
  static func name(at now: Timestamp) -> String {
    let time = rfc3339(now.millis).filter { !"-:".contains($0) }
    return prefix + time + "-" + String(decoding: Hexadecimal.encode(Random.bytes(4)), as: UTF8.self) + suffix
  }

  /// Creates an empty draft; returns its path.
  func begin(_ name: String) throws -> String {
    try folder.create(name + BackupFolder.draft)
    return folder.place(of: name + BackupFolder.draft)
  }

  /// Syncs the draft to disk, and writes its digest next to it; returns its length and digest.
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
    let value = digest.value()
    let line = String(decoding: Hexadecimal.encode(value), as: UTF8.self) + "  " + name + "\n"
    try PrivateFile(folder.place(of: name + BackupFolder.draft + BackupFolder.digest)).write(Array(line.utf8))
    return (byteCount, Digest(value))
  }

  /// Renames the digest and the draft to their final names. Removes both files if that fails.
  func publish(_ name: String) throws {
    do {
      try folder.rename(name + BackupFolder.draft + BackupFolder.digest, to: name + BackupFolder.digest)
      try folder.rename(name + BackupFolder.draft, to: name)
      try folder.sync()
    } catch {
      remove(name)
      throw error
    }
  }

  private func remove(_ name: String) {
    folder.remove(name)
    folder.remove(name + BackupFolder.digest)
  }

  /// Removes the oldest backups in excess of `keptMax`. Keeps this one, even if the clock makes it look older.
  func makeRoom(beside name: String) throws {
    guard keptMax > 0 else { return }
    let others = try folder.names().filter { BackupFolder.isBackup($0) && $0 != name }
    for old in others.prefix(max(0, others.count + 1 - keptMax)) { remove(old) }
  }

  /// Removes the draft and its auxiliary files.
  func discard(_ name: String) {
    let left = (try? folder.names()) ?? []
    for file in left where file.hasPrefix(name + BackupFolder.draft) { folder.remove(file) }
  }

  /// Returns the request time of the newest backup.
  func newest() throws -> Timestamp? {
    guard let name = try folder.names().last(where: BackupFolder.isBackup) else { return nil }
    return moment(ofDigits: String(name.dropLast(BackupFolder.tail))).map(Timestamp.init(millis:))
  }

  /// Whether the name has exactly our form. The folder may contain a database with a similar name.
  private static func isBackup(_ name: some StringProtocol) -> Bool {
    let length = prefix.utf8.count + form.utf8.count
    guard name.hasPrefix(prefix), name.hasSuffix(suffix), name.utf8.count == length + suffix.utf8.count else {
      return false
    }
    return zip(name.utf8.dropFirst(prefix.utf8.count), form.utf8).allSatisfy { byte, sign in
      switch sign {
      case UInt8(ascii: "0"): UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
      case UInt8(ascii: "f"): "0123456789abcdef".utf8.contains(byte)
      default: byte == sign
      }
    }
  }

  private static func isDraft(_ name: String) -> Bool {
    let length = prefix.count + form.count + suffix.count
    return isBackup(name.prefix(length)) && name.dropFirst(length).hasPrefix(draft)
  }
}
