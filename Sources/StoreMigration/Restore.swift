import Crypto
import Encodings
import Reactor
import Store
import StoreSQLite

/// The step of a restore in progress, to show to the operator.
package enum RestoreStep: Equatable, Sendable {
  case copying(bytes: Int64)
  case checking
}

/// The reason why nothing was restored.
package enum RestoreError: Error, Equatable {
  /// The backup cannot be used.
  case backup(String)
  /// The target, or a file next to it, cannot be written, or a server uses it.
  case target(String)
}

package struct Restored: Equatable, Sendable {
  package var byteCount: Int64
  package var sha256: String
  package var accountCount: Int
  /// Where the former file is; nil if there was none, or it was not kept.
  package var keptAt: String?
}

/// A restore of the embedded store from a backup, while no server runs.
package struct Restore {
  /// How the digest of the backup is known.
  package enum Digest: Equatable {
    /// From the file next to the backup, as the server writes it.
    case file
    case given(String)
    case unchecked
  }

  /// The suffix of the digest's file, in the format of `sha256sum`.
  package static let digestSuffix = ".sha256"

  private let source: String
  private let target: String
  private let digest: Digest
  private let keeps: Bool

  /// - Parameter keeps: whether the former file stays, under a name with the time.
  package init(from source: String, to target: String, digest: Digest, keeps: Bool) {
    self.source = source
    self.target = target
    self.digest = digest
    self.keeps = keeps
  }

  package func run(tell: (RestoreStep) -> Void = { _ in }) throws(RestoreError) -> Restored {
    do throws(RestoredFileError) {
      return try restore(tell)
    } catch {
      switch error {
      case .content(let why): throw .backup(why)
      case .target(let why): throw .target(why)
      }
    }
  }

  private func restore(_ tell: (RestoreStep) -> Void) throws(RestoredFileError) -> Restored {
    let expected = try expectedDigest()
    let file: FileReader
    do { file = try FileReader(source) } catch { throw .content("\(source) cannot be read: \(error)") }
    if let bytes = Restore.size(source + "-wal"), bytes > 0 {
      throw .content(
        "\(source)-wal is not empty, so \(source) alone is incomplete: open it once with a server or with sqlite3")
    }
    let restored = try RestoredFile(of: target)
    let (byteCount, sha256) = try copy(file, to: restored, tell)
    if let expected, expected != sha256 {
      throw .content("\(source) has the SHA-256 \(sha256), expected \(expected)")
    }
    tell(.checking)
    let content = try restored.check()
    let name = keeps && Restore.size(target) != nil ? RestoredFile.keptPrefix + Restore.timeText() : nil
    do {
      try restored.publish(keepingAs: name)
    } catch let error as RestoredFileError {
      throw error
    } catch {
      throw .target("\(error)")
    }
    return Restored(
      byteCount: byteCount, sha256: sha256, accountCount: content.accountCount,
      keptAt: name.map { restored.place + $0 })
  }

  private func copy(
    _ file: FileReader, to restored: RestoredFile, _ tell: (RestoreStep) -> Void
  ) throws(RestoredFileError) -> (Int64, String) {
    let digest = SHA256()
    var byteCount: Int64 = 0
    while true {
      let bytes: [UInt8]?
      do { bytes = try file.next() } catch { throw .content("\(source) cannot be read: \(error)") }
      guard let bytes else { break }
      digest.take(bytes)
      try restored.write(bytes)
      byteCount += Int64(bytes.count)
      tell(.copying(bytes: byteCount))
    }
    return (byteCount, Restore.text(digest.value()))
  }

  private func expectedDigest() throws(RestoredFileError) -> String? {
    switch digest {
    case .unchecked: return nil
    case .given(let text): return text.lowercased()
    case .file:
      let path = source + Restore.digestSuffix
      let text: [UInt8]
      do { text = try wholeFile(path, bytesMax: 4_096) } catch {
        throw .content("the digest of the backup is unknown, because \(path) cannot be read: \(error.reason)")
      }
      let word = String(decoding: text, as: UTF8.self).prefix { $0 != " " && $0 != "\n" }.lowercased()
      guard word.utf8.count == 64, word.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) else {
        throw .content("\(path) has no SHA-256")
      }
      return word
    }
  }

  /// The present time without colons, for a file name.
  private static func timeText() -> String { rfc3339(wallMillis()).filter { !"-:".contains($0) } }

  private static func text(_ digest: [UInt8]) -> String { String(decoding: Hexadecimal.encode(digest), as: UTF8.self) }

  /// The size of a file; nil if it does not exist.
  private static func size(_ path: String) -> Int64? { RestoredFile.size(of: path) }
}
