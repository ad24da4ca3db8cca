// FuzzTargets owns the handling of untrusted bytes at every entry: each target feeds them to one reader of the product
// and traps where a law is broken. It does not own the engine that generates the bytes (Driver), nor the inputs that
// are kept and run by `swift test` (Replay). Next: Connection.swift, the whole path in one target.

/// One entry of untrusted bytes.
package struct FuzzTarget: Sendable {
  /// Also the name of its folders in Corpus and Failures.
  package let name: String
  /// Real input to start from.
  package let seeds: [Seed]
  /// Traps where the bytes break a law.
  package let run: @Sendable ([UInt8]) -> Void

  init(_ name: String, seeds: [Seed], _ run: @escaping @Sendable ([UInt8]) -> Void) {
    self.name = name
    self.seeds = seeds
    self.run = run
  }

  /// Sorted by exposure, the most exposed first.
  package static let all: [FuzzTarget] = [
    connection, message, head, framing, token, claims, redirect, tokenAnswer, signedRequest, json, customClaims,
    passkey, settings, address, proxyHeader, forwarded, keySet, timeout, encodings, pending, keyFiles, pemFiles,
    certificate,
  ]

  package static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

package struct Seed: Sendable {
  package let name: String
  package let bytes: [UInt8]

  init(_ name: String, _ bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }

  init(_ name: String, _ text: String) { self.init(name, Array(text.utf8)) }
}

/// Ends the process if a law does not hold; the engine keeps the input.
func law(_ holds: Bool, _ text: @autoclosure () -> String) {
  guard holds else { fatalError("broken law: \(text()) (\(InputName.current))") }
}

/// The name of the current input, if it has one.
package enum InputName {
  @TaskLocal package static var current = "made up"
}

/// Splits an input: bytes that control a target precede those that it processes.
struct InputReader {
  private var left: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { left = bytes[...] }

  /// Returns 0 at the end of the input.
  mutating func byte() -> UInt8 { left.popFirst() ?? 0 }

  mutating func bytes(_ count: Int) -> [UInt8] {
    defer { left = left.dropFirst(count) }
    return Array(left.prefix(count))
  }

  /// The bytes up to the next `end`, which is consumed too; all remaining bytes if there is none.
  mutating func bytes(until end: UInt8) -> [UInt8] {
    let taken = left.prefix { $0 != end }
    left = left.dropFirst(taken.count + 1)
    return Array(taken)
  }

  mutating func rest() -> [UInt8] {
    defer { left = [] }
    return Array(left)
  }
}

extension [UInt8] {
  /// Splits into pieces of these lengths, which repeat; one piece without lengths.
  func pieces(_ lengths: [Int]) -> [[UInt8]] {
    guard !lengths.isEmpty else { return [self] }
    var pieces: [[UInt8]] = []
    var at = 0
    while at < count {
      let end = Swift.min(count, at + lengths[pieces.count % lengths.count])
      pieces.append(Array(self[at..<end]))
      at = end
    }
    return pieces
  }
}
