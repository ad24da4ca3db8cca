internal import Identity
internal import Store
internal import WebAuthn

/// The passkeys of the domain, by the module WebAuthn and the configured relying parties.
struct PasskeyVerifier: Passkeys {
  private let relyingParties: [String: RelyingParty]
  private let callers: [CallerName: [String]]

  /// - Parameter callers: the ids of each caller's relying parties, its default first.
  init(_ relyingParties: [RelyingParty], callers: [CallerName: [String]]) {
    self.relyingParties = Dictionary(relyingParties.map { ($0.id, $0) }) { $1 }
    self.callers = callers
  }

  func relyingPartyIDs(of caller: CallerName) -> [String] { callers[caller] ?? [] }

  func creationOptions(_ order: PasskeyCreation) throws -> String {
    CreationRequest(
      challenge: order.challenge.challenge, userHandle: order.challenge.userHandle, userName: order.userName,
      displayName: order.displayName, excluded: order.excluded.map(CredentialDescriptor.init),
      residentKey: order.challenge.isForFactor ? .discouraged : .preferred, timeoutMillis: order.lifetimeMillis,
      at: try relyingParty(of: order.challenge)
    ).json()
  }

  func requestOptions(_ order: PasskeyRequest) throws -> String {
    RequestOptions(
      challenge: order.challenge.challenge, allowed: order.allowed.map(CredentialDescriptor.init),
      timeoutMillis: order.lifetimeMillis, at: try relyingParty(of: order.challenge)
    ).json()
  }

  func verifyRegistration(_ json: String, answering challenge: PasskeyChallenge) throws -> Passkey {
    let relyingParty = try relyingParty(of: challenge)
    do {
      let verified = try WebAuthn.verifyRegistration(
        json, challenge: challenge.challenge,
        requiresUserVerification: relyingParty.userVerification == .required, at: relyingParty)
      return Passkey(
        relyingPartyID: relyingParty.id, credentialID: verified.credentialID, userHandle: challenge.userHandle,
        publicKey: verified.publicKey.bytes, algorithm: Int64(verified.publicKey.algorithm.rawValue),
        signCount: Int64(verified.signCount), backupEligible: verified.backupEligible, backedUp: verified.backedUp,
        userVerified: verified.userVerified, aaguid: verified.aaguid, transports: verified.transports,
        attestationFormat: verified.attestationFormat)
    } catch {
      throw Failure.invalidPasskey(error.rawValue)
    }
  }

  func credentialID(in json: String) throws -> [UInt8] {
    do { return try WebAuthn.credentialID(in: json) } catch { throw Failure.invalidPasskey(error.rawValue) }
  }

  func parseAssertion(_ json: String) throws -> PresentedPasskey {
    let response = try parse(json)
    return PresentedPasskey(credentialID: response.credentialID, userHandle: response.userHandle)
  }

  func verifyAssertion(
    _ json: String, by passkey: Passkey, answering challenge: PasskeyChallenge
  ) throws -> PasskeyUse {
    let relyingParty = try relyingParty(of: challenge)
    guard let algorithm = PasskeyAlgorithm(rawValue: Int(passkey.algorithm)) else {
      throw Failure.invalidPasskey(WebAuthnFlaw.algorithm.rawValue)
    }
    let response = try parse(json)
    do {
      let verified = try WebAuthn.verify(
        response, challenge: challenge.challenge, key: PasskeyPublicKey(algorithm: algorithm, bytes: passkey.publicKey),
        requiresUserVerification: relyingParty.userVerification == .required, at: relyingParty)
      return PasskeyUse(
        signCount: Int64(verified.signCount), userVerified: verified.userVerified,
        backupEligible: verified.backupEligible, backedUp: verified.backedUp)
    } catch {
      throw Failure.invalidPasskey(error.rawValue)
    }
  }

  private func parse(_ json: String) throws(Failure) -> AssertionResponse {
    do { return try WebAuthn.parseAssertion(json) } catch { throw Failure.invalidPasskey(error.rawValue) }
  }

  /// Returns the relying party of a ceremony. A passkey as a second factor proves only possession.
  private func relyingParty(of challenge: PasskeyChallenge) throws(Failure) -> RelyingParty {
    guard let found = relyingParties[challenge.relyingPartyID] else {
      throw Failure(.operationNotAllowed, hint: "The relying party is no longer configured.")
    }
    guard challenge.isForFactor else { return found }
    return RelyingParty(
      id: found.id, name: found.name, origins: found.origins, topOrigins: found.topOrigins,
      userVerification: .discouraged, attestation: found.attestation, algorithms: found.algorithms)
  }
}

extension CredentialDescriptor {
  fileprivate init(_ passkey: NamedPasskey) {
    self.init(id: passkey.credentialID, transports: passkey.transports)
  }
}
