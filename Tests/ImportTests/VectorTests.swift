import Crypto
import Encodings
import FoundationEssentials
import Testing
import Tokens

@testable import Import

/// A hash that an independent library made. `Tests/Common/foreign_hashes/make.py` wrote the file.
private struct Vector: CustomTestStringConvertible {
  let testDescription: String
  let algorithm: ForeignHashAlgorithm
  let rounds: Int
  let salt: [UInt8]
  let hash: [UInt8]

  init?(_ json: JSONValue) {
    guard let name = json["name"]?.string, json["slow"] == .bool(false),
      let algorithm = json["algorithm"]?.string.flatMap(ForeignHashAlgorithm.init), let rounds = json["rounds"]?.int,
      let salt = json["salt"]?.string.flatMap({ Base64.decode(Array($0.utf8)) }),
      let hash = json["hash"]?.string.flatMap({ Base64.decode(Array($0.utf8)) })
    else { return nil }
    (testDescription, self.algorithm, self.rounds, self.salt, self.hash) = (name, algorithm, Int(rounds), salt, hash)
  }
}

private let vectors: [Vector] = {
  let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
  guard let file = FileManager.default.contents(atPath: root + "/Tests/Common/foreign_hashes/vectors.json"),
    let json = try? JSONValue.parse(Array(file), byteCountMax: 65_536)
  else { return [] }
  return json["vectors"]?.array?.compactMap(Vector.init) ?? []
}()

@Test func `the file of vectors has the fast ones of passlib, Django and Werkzeug`() {
  #expect(vectors.count == 15)
}

@Test(arguments: vectors)
private func `a hash of an independent library matches its password, and no other`(vector: Vector) throws {
  var options = ForeignHashOptions(algorithm: vector.algorithm)
  options.rounds = vector.rounds
  let text = try ForeignHashScheme(options, keyID: "").text(hash: vector.hash, salt: vector.salt)
  let hash = try #require(ForeignHash(text))
  #expect(ForeignHash(hash.text) == hash)
  #expect(try hash.matches(Array("an old secret".utf8), key: nil))
  #expect(try !hash.matches(Array("an old secreT".utf8), key: nil))
}
