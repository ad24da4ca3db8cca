internal import Crypto
internal import Encodings
package import Reactor
internal import Text

/// The passwords of `passwords.block_list_file`, which no account may get.
///
/// The file has one password a line, or is the list of Have I Been Pwned: SHA-1 digests in hexadecimal with a count, in
/// the order of the digests. The first is kept in memory, eight bytes for each password. The second is searched on
/// disk.
package final class PasswordBlockList: Sendable {
  private enum Content: Sendable {
    case passwords(DigestSet)
    case digests(SortedDigestFile)
  }

  private let content: Content
  /// The file when it was read.
  package let state: RandomAccessFile.State
  package let path: String

  package init(_ path: String) throws(ConfigurationError) {
    let (file, isOfDigests) = try PasswordBlockList.examined(path)
    (self.path, state) = (path, file.state)
    content = isOfDigests ? .digests(SortedDigestFile(file)) : .passwords(try PasswordBlockList.read(file))
  }

  /// Checks the file without reading all of it.
  static func check(_ path: String) throws(ConfigurationError) { _ = try examined(path) }

  private static func examined(
    _ path: String
  ) throws(ConfigurationError) -> (file: RandomAccessFile, isOfDigests: Bool) {
    let file = try reading(path) { () throws(SystemError) in try RandomAccessFile(path) }
    let start = try reading(path) { () throws(SystemError) in
      try file.read(at: 0, bytesMax: SortedDigestFile.lineBytesMax)
    }
    guard SortedDigestFile.isLine(start.prefix { $0 != UInt8(ascii: "\n") }) else { return (file, false) }
    let digests = SortedDigestFile(file)
    if let offset = try reading(path, { () throws(SystemError) in try digests.disorder() }) {
      throw wrong("\(path) is not ordered by its digests at byte \(offset): download the list that is ordered by hash")
    }
    return (file, true)
  }

  private static func reading<Value>(
    _ path: String, _ body: () throws(SystemError) -> Value
  ) throws(ConfigurationError) -> Value {
    do throws(SystemError) {
      return try body()
    } catch {
      throw wrong("\(path) cannot be read: \(error.reason)", isPassing: error.isPassing)
    }
  }

  /// Number of passwords in memory; nil for a list that is searched on disk.
  package var count: Int? { if case .passwords(let digests) = content { digests.count } else { nil } }

  /// - Parameter password: in NFKC. The case matters only for a list of digests.
  package func contains(_ password: String) throws -> Bool {
    switch content {
    case .passwords(let digests): digests.contains(Array(password.lowercased().utf8))
    case .digests(let file): try file.contains(sha1(Array(password.utf8)))
    }
  }

  private static func wrong(_ why: String, isPassing: Bool = false) -> ConfigurationError {
    ConfigurationError(setting: "passwords.block_list_file", why: why, isPassing: isPassing)
  }

  // MARK: One password a line

  private static let chunkBytes = 1 << 20
  /// Eight bytes each, so 160 MB.
  private static let passwordsMax = 20_000_000

  private static func read(_ file: RandomAccessFile) throws(ConfigurationError) -> DigestSet {
    var digests: [UInt64] = []
    var offset: Int64 = 0
    var rest: [UInt8] = []
    while true {
      let chunk = try reading(file.path) { [offset] () throws(SystemError) in
        try file.read(at: offset, bytesMax: chunkBytes)
      }
      offset += Int64(chunk.count)
      var lines = (rest + chunk).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      // The last line may continue in the next chunk.
      rest = chunk.isEmpty ? [] : lines.popLast().map(Array.init) ?? []
      for line in lines { if let digest = digest(line) { digests.append(digest) } }
      if chunk.isEmpty { break }
      guard digests.count <= passwordsMax, rest.count < chunkBytes else {
        throw wrong("\(file.path) has over \(passwordsMax) lines, or one of a megabyte: use a list of SHA-1 digests")
      }
    }
    guard !digests.isEmpty else { throw wrong("\(file.path) has no passwords") }
    return DigestSet(digests)
  }

  /// Returns nil for an empty line and for one that is no UTF-8, which no user can enter.
  private static func digest(_ line: ArraySlice<UInt8>) -> UInt64? {
    let bytes = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    guard !bytes.isEmpty else { return nil }
    if bytes.allSatisfy({ $0 < 0x80 }) { return DigestSet.digest(bytes.map { lowered($0) }) }
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    return DigestSet.digest(Array(normalisePassword(text).lowercased().utf8))
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}

/// A file of lines that begin with a SHA-1 digest in hexadecimal, sorted.
struct SortedDigestFile: Sendable {
  /// More than the digest, a colon, a count and the line break.
  static let lineBytesMax = 128
  private static let digestBytes = 40
  /// A part of the file that is read as a whole.
  private static let pageBytes: Int64 = 4_096
  private static let samples: Int64 = 1_000

  private let file: RandomAccessFile
  private var end: Int64 { file.state.bytes }

  init(_ file: RandomAccessFile) { self.file = file }

  /// Whether a line is a digest, possibly followed by a colon and a count.
  static func isLine(_ line: ArraySlice<UInt8>) -> Bool {
    let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    guard line.count >= digestBytes, line.prefix(digestBytes).allSatisfy({ Hexadecimal.value(of: $0) != nil }) else {
      return false
    }
    let count = line.dropFirst(digestBytes)
    return count.isEmpty
      || (count.first == UInt8(ascii: ":")
        && count.dropFirst().allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
  }

  /// Returns the offset of a line that is malformed or not in order, as far as a thousand lines of the file show.
  func disorder() throws(SystemError) -> Int64? {
    var former = [UInt8](repeating: 0, count: 20)
    let step = (end + SortedDigestFile.samples - 1) / SortedDigestFile.samples
    for offset in stride(from: 0, to: end, by: Int(step)) {
      guard let line = try line(after: offset) else { continue }
      guard let digest = line.digest, !digest.lexicographicallyPrecedes(former) else { return line.start }
      former = digest
    }
    return nil
  }

  /// Searches in about 25 reads of a file of 40 GB.
  func contains(_ digest: [UInt8]) throws -> Bool {
    // The line of the digest, if there is one, begins in this range.
    var (low, high): (Int64, Int64) = (0, end)
    while high - low > SortedDigestFile.pageBytes {
      let middle = low + (high - low) / 2
      guard let line = try line(after: middle), line.start < high else {
        high = middle + 1
        continue
      }
      guard let found = line.digest else { throw SystemError(code: 5, call: "read a digest of \(file.path)") }
      if found == digest { return true }
      if found.lexicographicallyPrecedes(digest) { low = line.start } else { high = middle + 1 }
    }
    let page = try file.read(at: low, bytesMax: Int(high - low) + SortedDigestFile.lineBytesMax)
    return page.split(separator: UInt8(ascii: "\n")).contains { SortedDigestFile.digest($0) == digest }
  }

  private struct Line {
    var start: Int64
    /// nil: malformed.
    var digest: [UInt8]?
  }

  /// Returns the first line that begins after the offset; for offset 0 the first line. nil: there is none.
  private func line(after offset: Int64) throws(SystemError) -> Line? {
    let window = try file.read(at: offset, bytesMax: 2 * SortedDigestFile.lineBytesMax)
    var begin = 0
    if offset > 0 {
      guard let newline = window.firstIndex(of: UInt8(ascii: "\n")) else {
        // Only the last line of the file ends without a line break.
        let isLast = offset + Int64(window.count) >= end
        return isLast ? nil : Line(start: offset, digest: nil)
      }
      begin = newline + 1
    }
    guard begin < window.count else { return nil }
    let line = window[begin...].prefix { $0 != UInt8(ascii: "\n") }
    let digest = SortedDigestFile.isLine(line) ? SortedDigestFile.digest(line) : nil
    return Line(start: offset + Int64(begin), digest: digest)
  }

  private static func digest(_ line: ArraySlice<UInt8>) -> [UInt8]? {
    Hexadecimal.decode(String(decoding: line.prefix(digestBytes), as: UTF8.self))
  }
}

extension Settings {
  /// Returns the list of `passwords.block_list_file`; nil if there is none.
  /// - Parameter previous: the present list, which is kept if its file has not changed.
  package func passwordBlockList(
    previous: PasswordBlockList?
  ) throws(ConfigurationError) -> PasswordBlockList? {
    guard !passwordBlockListFile.isEmpty else { return nil }
    if let previous, previous.path == passwordBlockListFile,
      previous.state == (try? RandomAccessFile(passwordBlockListFile))?.state
    {
      return previous
    }
    return try PasswordBlockList(passwordBlockListFile)
  }
}
