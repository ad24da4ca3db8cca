private import SwiftProtobuf

#if canImport(FoundationEssentials)
private import FoundationEssentials
#else
private import Foundation
#endif
#if canImport(Darwin)
private import Darwin
#elseif canImport(Musl)
private import Musl
#else
private import Glibc
#endif

/// Storage in a file that only its owner can read.
///
/// ``save(_:)`` replaces the file as a whole, and waits until it is on the disk.
public actor FileSessionStorage: SessionStorage {
  /// A file that cannot be read or written.
  public struct Failure: Error, Sendable, Hashable {
    /// Path of the file.
    public let path: String
    /// The operating system's `errno`.
    public let errno: Int32
  }

  private let path: String

  /// Creates storage. The folder of the file must exist.
  public init(path: String) { self.path = path }

  public func load() throws -> Latchkey_V1_Session? {
    guard access(path, F_OK) == 0 else { return nil }
    return try Latchkey_V1_Session(serializedBytes: Data(contentsOf: URL(filePath: path)))
  }

  public func save(_ session: Latchkey_V1_Session) throws {
    let bytes: [UInt8] = try session.serializedBytes(), draft = path + ".new"
    unlink(draft)
    let file = try check(open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
    defer { close(file) }
    var written = 0
    while written < bytes.count {
      written += Int(try check(Int32(write(file, Array(bytes[written...]), bytes.count - written))))
    }
    try check(fsync(file))
    try check(rename(draft, path))
    try syncFolder()
  }

  public func remove() throws {
    guard unlink(path) != 0 else { return try syncFolder() }
    if errno != ENOENT { throw Failure(path: path, errno: errno) }
  }

  /// Makes the entry of the file durable.
  private func syncFolder() throws {
    let folder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    let descriptor = try check(open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    defer { close(descriptor) }
    try check(fsync(descriptor))
  }

  @discardableResult private func check(_ result: Int32) throws -> Int32 {
    guard result >= 0 else { throw Failure(path: path, errno: errno) }
    return result
  }
}
