internal import Crypto
internal import Encodings
internal import Tokens

/// What the client says about the ceremony: `CollectedClientData` (WebAuthn 5.8.1).
struct ClientData {
  enum Ceremony: String {
    case registration = "webauthn.create"
    case assertion = "webauthn.get"
  }

  let hash: [UInt8]
  private let type: String
  private let challenge: String
  private let origin: String
  private let isCrossOrigin: Bool
  private let topOrigin: String?

  /// Parses client data (7.1 steps 5 and 6, 7.2 steps 8 and 9). A name that occurs twice and invalid UTF-8 are errors,
  /// so that no other reader understands the same bytes differently.
  init(_ bytes: [UInt8]) throws(WebAuthnFlaw) {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    guard let value = try? JSONValue.parse(text, byteCountMax: WebAuthnLimits.clientData, .refused),
      let type = value["type"]?.string, let challenge = value["challenge"]?.string,
      let origin = value["origin"]?.string
    else { throw .malformedJSON }
    let crossOrigin = value["crossOrigin"], topOrigin = value["topOrigin"]
    guard crossOrigin == nil || crossOrigin?.bool != nil, topOrigin == nil || topOrigin?.string != nil else {
      throw .malformedJSON
    }
    self.type = type
    self.challenge = challenge
    self.origin = origin
    isCrossOrigin = crossOrigin?.bool ?? false
    self.topOrigin = topOrigin?.string
    hash = HashFunction.sha256.digest(bytes)
  }

  /// Checks 7.1 steps 7 to 11, which are 7.2 steps 10 to 14.
  func check(
    _ ceremony: Ceremony, challenge expected: [UInt8], at relyingParty: RelyingParty
  ) throws(WebAuthnFlaw) {
    guard identical(type, ceremony.rawValue) else { throw .type }
    guard identical(challenge, Base64URL.encode(expected)) else { throw .challenge }
    guard relyingParty.origins.contains(where: { identical($0, origin) }) else { throw .origin }
    // A client that does not name the embedding page could be embedded in any.
    guard !isCrossOrigin || !relyingParty.topOrigins.isEmpty else { throw .crossOrigin }
    guard isCrossOrigin || topOrigin != nil else { return }
    guard let topOrigin, relyingParty.topOrigins.contains(where: { identical($0, topOrigin) }) else {
      throw .topOrigin
    }
  }

  /// Compares byte by byte. `==` treats a composed letter as equal to its decomposition.
  private func identical(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}
