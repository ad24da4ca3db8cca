internal import API
internal import Encodings
internal import Identity
internal import Store

/// latchkey.v1.PasskeyService: registers passkeys, starts sign-ins with them, and manages those of an account.
package struct PasskeyService: Sendable {
  private let shared: HandlerContext

  package init(_ shared: HandlerContext) { self.shared = shared }

  package var methods: [Method] {
    [startRegistration, finishRegistration, startSignIn, listPasskeys, renamePasskey, removePasskey]
  }

  private var startRegistration: Method {
    .unary(PasskeyRPC.startRegistration) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      let order = Identity.StartRegistrationRequest(
        idToken: try Shape.text(request.idToken, "id_token", bytesMax: Shape.tokenBytesMax),
        relyingPartyID: try Shape.text(request.rpID, "rp_id", bytesMax: Shape.relyingPartyIDBytesMax),
        userName: try Shape.shown(request.userName, "user_name", bytesMax: Shape.displayNameBytesMax),
        displayName: try Shape.shown(request.displayName, "display_name", bytesMax: Shape.displayNameBytesMax))
      context.notes?.presents(SignInMethods.passkey)
      let start = StartRegistration(shared.environment)
      return .task {
        let started = try await start(order, call)
        return StartRegistrationResponse(
          registrationID: started.id, optionsJSON: started.optionsJSON, expiresAtMillis: started.expiresAt.millis)
      }
    }
  }

  private var finishRegistration: Method {
    .unary(PasskeyRPC.finishRegistration) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client, binding: request.binding,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.FinishRegistrationRequest.self))
      let id = try Shape.required(request.registrationID, "registration_id", bytesMax: Shape.handleBytesMax)
      let response = PasskeyResponse(
        .registration(id),
        credentialJSON: try Shape.token(request.credentialJSON, "credential_json"),
        name: try Shape.shown(request.name, "name", bytesMax: Shape.displayNameBytesMax))
      let order = Identity.FinishRegistrationRequest(
        idToken: try Shape.token(request.idToken, "id_token"), response: response)
      context.notes?.presents(SignInMethods.passkey)
      let finish = FinishRegistration(shared.environment)
      return .task {
        let finished = try await finish(order, call)
        call.notes?.ended(finished.outcome)
        return switch finished {
        case .session(let grant, let passkey):
          FinishRegistrationResponse(outcome: .session(API.Session(grant)), passkey: API.Passkey(passkey))
        case .secondFactorRequired(let required):
          FinishRegistrationResponse(outcome: .secondFactorRequired(.init(required)))
        }
      }
    }
  }

  private var startSignIn: Method {
    .unary(PasskeyRPC.startSignIn) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client, binding: request.binding)
      let order = try Shape.passkeySignIn(request)
      context.notes?.presents(SignInMethods.passkey)
      let start = StartPasskeySignIn(shared.environment)
      return .task {
        do {
          let started = try await start(order, call)
          return StartSignInResponse(
            signInID: started.id, optionsJSON: started.optionsJSON, expiresAtMillis: started.expiresAt.millis)
        } catch {
          throw shared.noted(error, FailedAttempt("StartSignIn", method: SignInMethods.passkey), call)
        }
      }
    }
  }

  private var listPasskeys: Method {
    .unary(PasskeyRPC.listPasskeys, isLookUp: true) { request, message, context, arena in
      let call = try shared.facts(context, message)
      let reading = try ListPasskeys(shared.environment, idToken: try Shape.token(request.idToken, "id_token"), call)
      return try shared.read(reading, arena) { ListPasskeysResponse(passkeys: $0.map(API.Passkey.init)) }
    }
  }

  private var renamePasskey: Method {
    .unary(PasskeyRPC.renamePasskey) { request, message, context, _ in
      let call = try shared.facts(context, message, client: request.client)
      let idToken = try Shape.token(request.idToken, "id_token")
      let passkeyID = try Shape.required(request.passkeyID, "passkey_id", bytesMax: Shape.passkeyIDBytesMax)
      let name = try Shape.shown(request.name, "name", bytesMax: Shape.displayNameBytesMax)
      let rename = RenamePasskey(shared.environment)
      return .task {
        let renamed = try await rename(idToken: idToken, passkeyID: passkeyID, name: name, call)
        return RenamePasskeyResponse(passkey: API.Passkey(renamed))
      }
    }
  }

  private var removePasskey: Method {
    .unary(PasskeyRPC.removePasskey) { request, message, context, _ in
      let call = try shared.facts(
        context, message, client: request.client,
        idempotencyKey: IdempotencyKey(request.idempotencyKey, of: API.RemovePasskeyRequest.self))
      let idToken = try Shape.token(request.idToken, "id_token")
      let passkeyID = try Shape.required(request.passkeyID, "passkey_id", bytesMax: Shape.passkeyIDBytesMax)
      let remove = RemovePasskey(shared.environment)
      return .task {
        RemovePasskeyResponse(session: API.Session(try await remove(idToken: idToken, passkeyID: passkeyID, call)))
      }
    }
  }
}

extension API.Passkey {
  init(_ identity: IdentityRecord) {
    let passkey = Identity.Passkey(of: identity)
    self.init(
      passkeyID: identity.key.subject, name: identity.displayName, rpID: identity.username,
      createdAtMillis: identity.linkedAt.millis, lastUsedAtMillis: passkey?.lastUsedAt?.millis,
      backupEligible: passkey?.backupEligible ?? false, backedUp: passkey?.backedUp ?? false,
      userVerified: passkey?.userVerified ?? false, transports: passkey?.transports ?? [],
      aaguid: String(decoding: Hexadecimal.encode(passkey?.aaguid ?? []), as: UTF8.self))
  }
}

extension Shape {
  /// A domain name (RFC 1035).
  static let relyingPartyIDBytesMax = 253
  /// The SHA-256 of a credential ID has 43 bytes. The limit leaves room for longer IDs of later versions.
  static let passkeyIDBytesMax = 128

  static func passkeySignIn(_ request: API.StartSignInRequest) throws -> StartPasskeySignInRequest {
    let purpose = try purpose(request.purpose, idToken: request.idToken)
    guard purpose != .link else { throw invalid("purpose", "Call StartRegistration to add a passkey.") }
    guard purpose == .reauthenticate || request.idToken.isEmpty else {
      throw invalid("id_token", "Omit id_token for a sign-in.")
    }
    guard purpose == .signIn || request.email.isEmpty else {
      throw invalid("email", "Omit email for a reauthentication.")
    }
    return StartPasskeySignInRequest(
      email: request.email.isEmpty ? nil : try email(request.email, "email"),
      relyingPartyID: try text(request.rpID, "rp_id", bytesMax: relyingPartyIDBytesMax), purpose: purpose,
      idToken: try text(request.idToken, "id_token", bytesMax: tokenBytesMax))
  }

  static func passkey(_ credential: API.PasskeyCredential) throws -> PasskeyResponse {
    let path = "credential.passkey."
    let ceremony: PasskeyResponse.Ceremony
    switch credential.ceremony {
    case .signInID(let id):
      ceremony = .signIn(try required(id, path + "sign_in_id", bytesMax: handleBytesMax))
    case .registrationID(let id):
      ceremony = .registration(try required(id, path + "registration_id", bytesMax: handleBytesMax))
    case nil: throw invalid(path + "sign_in_id", "Set sign_in_id or registration_id.")
    }
    return PasskeyResponse(
      ceremony, credentialJSON: try token(credential.credentialJSON, path + "credential_json"),
      name: try shown(credential.name, path + "name", bytesMax: displayNameBytesMax))
  }
}
