import Crypto
import Testing
import Tokens

@testable import HTTP1
@testable import Server

private func documents() throws -> KeyDocuments {
  let keys = try [SignatureAlgorithm.es256, .edDSA, .es256].map { algorithm in
    try SigningKey(
      .generate(algorithm == .es256 ? .p256 : .ed25519), algorithm: algorithm, publishedAt: 0, activeFrom: 0,
      retiredAt: nil)
  }
  let tokens = TokenIssuer(ring: KeyRing(keys, tokenLifetimeSecondsMax: 60), issuer: "https://auth.example")
  return KeyDocuments(
    issuer: "https://auth.example", url: "https://keys.example", maxAgeMillis: 1_800_000, keys: tokens)
}

private func get(_ path: String, _ method: String = "GET", tags: String = "") -> HTTPRequest {
  HTTPRequest(method: method, path: path, knownTags: tags)
}

@Test func `the key set equals the answer of GetSigningKeys, and may be cached for half of the lead`() throws {
  let documents = try documents()
  let answer = documents.answer(get("/.well-known/jwks.json"))
  #expect(answer.status == .ok && answer.contentType == "application/jwk-set+json")
  #expect(answer.body == documents.keys.signingKeys())
  #expect(answer.cacheControl == "public, max-age=1800")
}

@Test func `discovery states the issuer, the URL of the keys and each of their algorithms once`() throws {
  let answer = try documents().answer(get("/.well-known/openid-configuration"))
  let said = try JSONValue.parse(Array(answer.body.utf8), byteCountMax: 4_096)
  #expect(answer.contentType == "application/json")
  #expect(said["issuer"]?.string == "https://auth.example")
  #expect(said["jwks_uri"]?.string == "https://keys.example/.well-known/jwks.json")
  #expect(said["id_token_signing_alg_values_supported"]?.strings == ["ES256", "EdDSA"])
  #expect(said["authorization_endpoint"] == nil && said["token_endpoint"] == nil)
}

@Test func `a client with the current document gets none, and another document has another tag`() throws {
  let documents = try documents()
  let keys = documents.answer(get("/.well-known/jwks.json"))
  let discovery = documents.answer(get("/.well-known/openid-configuration"))
  #expect(keys.entityTag.hasPrefix("\"") && keys.entityTag != discovery.entityTag)
  for tags in [keys.entityTag, "W/" + keys.entityTag, "\"x\"," + keys.entityTag, "*"] {
    let answer = documents.answer(get("/.well-known/jwks.json", "HEAD", tags: tags))
    #expect(answer.status == .notModified && answer.entityTag == keys.entityTag)
    let text = String(decoding: answer.bytes(), as: UTF8.self)
    #expect(text.hasPrefix("HTTP/1.1 304 ") && text.hasSuffix("\r\n\r\n") && text.contains("max-age=1800"))
  }
  for tags in ["", discovery.entityTag, String(keys.entityTag.dropLast())] {
    #expect(documents.answer(get("/.well-known/jwks.json", tags: tags)) == keys)
  }
}

@Test(arguments: ["/", "/.well-known/jwks.json/", "/.well-known/", "/jwks.json", "/.WELL-KNOWN/jwks.json"])
func `any other path is not found, with any method`(path: String) throws {
  for method in ["GET", "POST"] { #expect(try documents().answer(get(path, method)).status == .notFound) }
}

@Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS", "get"])
func `only GET and HEAD are allowed for the keys`(method: String) throws {
  #expect(try documents().answer(get("/.well-known/jwks.json", method)).status == .methodNotAllowed)
}
