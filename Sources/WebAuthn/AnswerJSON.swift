internal import Encodings
internal import Tokens

/// The parts that both answers of a client share: `RegistrationResponseJSON` and `AuthenticationResponseJSON`
/// (WebAuthn 5.1).
struct AnswerJSON {
  let credentialID: [UInt8]
  let response: JSONValue
  let extensionResults: JSONValue?

  init(_ json: String) throws(WebAuthnFlaw) {
    let bytes = Array(json.utf8)
    guard bytes.count <= WebAuthnLimits.json else { throw .tooLarge }
    guard let value = try? JSONValue.parse(bytes, byteCountMax: bytes.count, .refused),
      let id = value["id"]?.string, let rawID = value["rawId"]?.string, let type = value["type"]?.string,
      let response = value["response"], response.members != nil
    else { throw .malformedJSON }
    guard type == CredentialType.publicKey else { throw .type }
    // Both are the same text, unless a client was written wrong.
    guard id == rawID, let decoded = Base64URL.decode(id), !decoded.isEmpty,
      decoded.count <= WebAuthnLimits.credentialID
    else { throw .credentialID }
    credentialID = decoded
    self.response = response
    extensionResults = value.optional("clientExtensionResults")
  }

  /// Returns a part of the response, which is base64url without padding.
  func bytes(_ name: String, max: Int) throws(WebAuthnFlaw) -> [UInt8] {
    guard let text = response[name]?.string else { throw .malformedJSON }
    guard let bytes = Base64URL.decode(text) else { throw .malformedJSON }
    guard bytes.count <= max else { throw .tooLarge }
    return bytes
  }
}
