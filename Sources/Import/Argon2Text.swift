internal import Encodings

/// An Argon2 hash as a PHC string with a bounded cost. The library supports only the kinds i and id of version 19, not
/// kind d or older versions.
struct Argon2Text {
  let text: String

  init(_ text: String) throws(ForeignHashError) {
    let field = "password_hash"
    guard text.utf8.count <= ForeignHashBounds.argon2TextBytesMax else {
      throw ForeignHashError(field, "It must have at most \(ForeignHashBounds.argon2TextBytesMax) bytes.")
    }
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 6, parts[0].isEmpty, ["argon2i", "argon2id"].contains(parts[1]), parts[2] == "v=19",
      let cost = parts[3].wholeMatch(of: /m=([0-9]{1,9}),t=([0-9]{1,9}),p=([0-9]{1,9})/),
      let memoryKiB = Int(cost.1), let iterations = Int(cost.2), let lanes = Int(cost.3),
      let salt = Base64.decode(Array(parts[4].utf8)), let hash = Base64.decode(Array(parts[5].utf8))
    else {
      throw ForeignHashError(field, "It must be a PHC string of Argon2i or Argon2id, version 19.")
    }
    try Argon2Text.check(memoryKiB, iterations, lanes, salt, hash, memory: field, time: field, lanes: field)
    self.text = text
  }

  /// Creates an Argon2id text with the parameters of the import options.
  init(memoryKiB: Int, iterations: Int, lanes: Int, salt: [UInt8], hash: [UInt8]) throws(ForeignHashError) {
    try Argon2Text.check(
      memoryKiB, iterations, lanes, salt, hash, memory: "memory_cost", time: "rounds", lanes: "parallelization")
    func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
    text = "$argon2id$v=19$m=\(memoryKiB),t=\(iterations),p=\(lanes)$\(base64(salt))$\(base64(hash))"
  }

  private static func check(
    _ memoryKiB: Int, _ iterations: Int, _ lanes: Int, _ salt: [UInt8], _ hash: [UInt8], memory memoryField: String,
    time timeField: String, lanes lanesField: String
  ) throws(ForeignHashError) {
    let bounds = ForeignHashBounds.self
    try Import.check(lanesField, lanes, bounds.argon2Lanes, "lanes")
    try Import.check(memoryField, memoryKiB, (8 * lanes)...bounds.argon2MemoryKiB.upperBound, "KiB")
    try Import.check(timeField, iterations, bounds.argon2Iterations, "iterations")
    try Import.check(memoryField, memoryKiB * iterations, 8...bounds.argon2WorkKiBMax, "KiB times iterations")
    try Import.check("salt", salt.count, 8...64, "bytes")
    try Import.check("password_hash", hash.count, bounds.hashBytes.lowerBound...128, "bytes")
  }
}
