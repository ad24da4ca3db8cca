import CSQLite
import Glibc
import Store

/// The record in the lock file that binds a write-ahead log to its database file.
///
/// SQLite applies a log to any database file next to it, even to one that was copied there later, and so destroys it.
/// Each start therefore gives the database file a new random mark (`application_id` in its header), and the lock file
/// states it. A copy of the store has the mark 0. A log with content next to a file without one of the stated marks
/// belongs to another file.
///
/// A crash at any point raises no false alarm: before a mark can reach the file, the record states the old and the new
/// one. Files that are moved together with their lock file, or without it, fit too.
struct FileMark: Hashable {
  enum Finding: Hashable {
    /// The log belongs to the file, or is empty.
    case fits
    /// A restore ended before it could remove the log of the file that it replaced.
    case leftByRestore
    case foreign
  }

  /// The length of the record. It never changes, so that one write replaces the whole record within a sector.
  static let byteCount = 64
  static let marksMax = 3
  private static let head = "latchkey-store 1 marks"

  /// The marks that the file may have. Empty: a program without marks wrote the file.
  var marks: [UInt32]
  /// The mark of a file that replaces the present one, and its log. nil: no restore is in progress.
  var replacement: UInt32?

  init(_ marks: [UInt32], replacement: UInt32? = nil) {
    self.marks = Array(marks.prefix(FileMark.marksMax))
    self.replacement = replacement
  }

  /// Parses a record. nil: there is none, or it was torn.
  init?(record bytes: some Collection<UInt8>) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.utf8.count == FileMark.byteCount, text.hasPrefix(FileMark.head), text.hasSuffix("\n") else { return nil }
    let words = text.dropLast().split(separator: " ").dropFirst(3)
    marks = []
    for word in words {
      let isReplacement = word.hasPrefix("new=")
      guard let mark = UInt32(isReplacement ? word.dropFirst(4) : word, radix: 16) else { return nil }
      if isReplacement { replacement = mark } else { marks.append(mark) }
    }
  }

  var bytes: [UInt8] {
    let words = marks.map { String($0, radix: 16) } + (replacement.map { ["new=" + String($0, radix: 16)] } ?? [])
    let text = ([FileMark.head] + words).joined(separator: " ")
    let padding = [UInt8](repeating: UInt8(ascii: " "), count: FileMark.byteCount - 1 - text.utf8.count)
    return Array(text.utf8) + padding + [UInt8(ascii: "\n")]
  }

  /// Decides whether a log belongs to a database file.
  /// - Parameter record: nil if the lock file has none.
  /// - Parameter mark: the mark in the file itself, without the log. nil: its header is damaged, and the log may have
  ///   an intact one.
  static func decide(_ record: FileMark?, mark: UInt32?, logBytes: Int64) -> Finding {
    guard let record, let mark, logBytes > 0 else { return .fits }
    if record.replacement == mark { return .leftByRestore }
    return record.marks.isEmpty || record.marks.contains(mark) ? .fits : .foreign
  }

  // MARK: The database file

  /// The place of `application_id` in the header of the file ("The Database Header" in SQLite's file format
  /// description).
  private static let place: off_t = 68
  private static let magic = Array("SQLite format 3\0".utf8)

  /// Reads the mark of a file, without the log. 0: the file is empty, or has none. nil: it has no valid header.
  static func ofFile(_ path: String) throws(SQLiteError) -> UInt32? {
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SQLiteError(code: SQLITE_CANTOPEN, text: "\(path) cannot be opened") }
    defer { _ = Glibc.close(descriptor) }
    var header = [UInt8](repeating: 0, count: Int(place) + 4)
    let count = unsafe pread(descriptor, &header, header.count, 0)
    guard count > 0 else { return 0 }
    guard count == header.count, header.starts(with: magic) else { return nil }
    return header[Int(place)...].reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// Writes the mark into a file that no connection has open.
  static func write(_ mark: UInt32, to descriptor: Int32) -> Bool {
    let bytes = (0..<4).map { UInt8(truncatingIfNeeded: mark >> (24 - 8 * $0)) }
    return unsafe pwrite(descriptor, bytes, bytes.count, place) == bytes.count
  }

  static func random() -> UInt32 { UInt32.random(in: 1...UInt32(Int32.max)) }
}

extension LockFile {
  borrowing func logFinding(of path: String) throws(StoreError) -> FileMark.Finding {
    do throws(SQLiteError) {
      return FileMark.decide(record(), mark: try FileMark.ofFile(path), logBytes: fileBytes(path + "-wal"))
    } catch {
      throw error.openingError
    }
  }

  /// Checks that the log next to the file belongs to it. Removes the log that an interrupted restore left.
  borrowing func settleLog(of path: String) throws(StoreError) {
    let log = path + "-wal"
    switch try logFinding(of: path) {
    case .fits: break
    case .leftByRestore:
      for suffix in ["-wal", "-shm"] { _ = unsafe Glibc.unlink(path + suffix) }
    case .foreign:
      throw .unusable(
        """
        \(log) belongs to another database file, such as the one that was here before \(path) was copied here; if it \
        does, remove it together with \(path)-shm, or use `latchkey restore`; if both files come from one snapshot of \
        the disk, remove \(path).lock instead
        """)
    }
  }

  /// Gives the file a new mark, and leaves the log empty. Keeps the present mark if the disk is full or a foreign
  /// program reads the file.
  borrowing func renewMark(of path: String, _ connection: Connection) throws(SQLiteError) {
    let stored = UInt32(truncatingIfNeeded: try connection.integer("PRAGMA application_id"))
    let next = FileMark.random()
    do throws(SQLiteError) {
      try write(FileMark([try FileMark.ofFile(path) ?? stored, stored, next]))
      try connection.execute("PRAGMA application_id = \(next)")
      try connection.checkpoint(SQLITE_CHECKPOINT_TRUNCATE)
      try write(FileMark([next]))
    } catch {
      guard error.isLock || error.code & 0xff == SQLITE_FULL else { throw error }
    }
  }
}

/// The size of a file; 0 if it does not exist.
func fileBytes(_ path: String) -> Int64 {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? Int64(status.st_size) : 0
}
