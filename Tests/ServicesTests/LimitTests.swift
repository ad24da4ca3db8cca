import Identity
import Testing
import API
import Protobuf

@testable import Services

/// One text field of one request: its limits, and a request with this text in it.
struct TextField: Sendable, CustomTestStringConvertible {
  let path: String
  let name: String
  let bytesMax: Int
  var mayBeEmpty = true
  let request: @Sendable (String) -> any ProtobufEncodable

  var testDescription: String { "\(path) \(name)" }
}

private let tokenBytesMax = 16_384
private let handleBytesMax = 128

private func signIn(_ kind: Credential.Kind) -> SignInRequest { SignInRequest(credential: Credential(kind: kind)) }

private typealias Credential = API.Credential
private typealias SignInRequest = API.SignInRequest
private typealias StartRegistrationRequest = API.StartRegistrationRequest
private typealias FinishRegistrationRequest = API.FinishRegistrationRequest

private func signIn(_ change: (inout SignInRequest) -> Void) -> SignInRequest {
  var request = signIn(.anonymous(AnonymousCredential()))
  change(&request)
  return request
}

private func providerToken(_ change: (inout ProviderTokenCredential) -> Void) -> SignInRequest {
  var token = ProviderTokenCredential(providerID: "google.com", idToken: "id", accessToken: "access")
  change(&token)
  return signIn(.providerToken(token))
}

private let auth = "/latchkey.v1.AuthService/"
private let accounts = "/latchkey.v1.AccountService/"
private let sessions = "/latchkey.v1.SessionService/"
private let admin = "/latchkey.v1.AdminService/"

private let credentialFields: [TextField] = [
  TextField(path: auth + "SignIn", name: "credential.password.password", bytesMax: 1_024, mayBeEmpty: false) {
    signIn(.password(PasswordCredential(email: "a@example.com", password: $0)))
  },
  TextField(path: auth + "SignIn", name: "credential.provider_token.provider_id", bytesMax: 72, mayBeEmpty: false) {
    text in providerToken { $0.providerID = text }
  },
  TextField(path: auth + "SignIn", name: "credential.provider_token.id_token", bytesMax: tokenBytesMax) { text in
    providerToken { $0.idToken = text }
  },
  TextField(path: auth + "SignIn", name: "credential.provider_token.access_token", bytesMax: tokenBytesMax) { text in
    providerToken { $0.accessToken = text }
  },
  TextField(path: auth + "SignIn", name: "credential.provider_token.token_secret", bytesMax: tokenBytesMax) { text in
    providerToken { $0.tokenSecret = text }
  },
  TextField(path: auth + "SignIn", name: "credential.provider_token.raw_nonce", bytesMax: 255) { text in
    providerToken { $0.rawNonce = text }
  },
  TextField(path: auth + "SignIn", name: "credential.provider_token.user_json", bytesMax: 4_096) { text in
    providerToken {
      $0.providerID = "apple.com"
      $0.userJSON = text
    }
  },
  TextField(path: auth + "SignIn", name: "credential.custom_token.token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    signIn(.customToken(CustomTokenCredential(token: $0)))
  },
  TextField(path: auth + "SignIn", name: "credential.pending_token", bytesMax: handleBytesMax, mayBeEmpty: false) {
    signIn(.pendingToken($0))
  },
]

private let callFields: [TextField] = [
  TextField(path: auth + "SignIn", name: "pending_token", bytesMax: handleBytesMax) { text in
    signIn { $0.pendingToken = text }
  },
  TextField(path: auth + "SignIn", name: "idempotency_key", bytesMax: 255) { text in
    signIn {
      $0.idempotencyKey = text
      // A guest's key is bound to one browser or device.
      $0.binding = "binding-of-browser-1"
    }
  },
  TextField(path: auth + "SignIn", name: "binding", bytesMax: 256) { text in signIn { $0.binding = text } },
  TextField(path: auth + "Unlink", name: "provider_id", bytesMax: 72, mayBeEmpty: false) {
    API.UnlinkRequest(idToken: "id", providerID: $0)
  },
  TextField(path: auth + "Unlink", name: "subject", bytesMax: 255) {
    API.UnlinkRequest(idToken: "id", providerID: "google.com", subject: $0)
  },
  TextField(path: accounts + "Create", name: "password", bytesMax: 1_024, mayBeEmpty: false) {
    CreateRequest(email: "a@example.com", password: $0)
  },
  TextField(path: accounts + "Create", name: "display_name", bytesMax: 256) {
    CreateRequest(email: "a@example.com", password: "long enough", displayName: $0)
  },
  TextField(path: accounts + "Create", name: "photo_url", bytesMax: 2_048) { text in
    let scheme = "https://"
    let url = text.isEmpty ? "" : scheme + String(decoding: text.utf8.dropFirst(scheme.utf8.count), as: UTF8.self)
    return CreateRequest(email: "a@example.com", password: "long enough", photoURL: url)
  },
  TextField(path: accounts + "Update", name: "account.display_name", bytesMax: 256) {
    UpdateRequest(
      idToken: "id", account: Account(displayName: $0), updateMask: FieldMask(paths: ["display_name"]))
  },
  TextField(path: accounts + "Update", name: "new_password", bytesMax: 1_024) {
    UpdateRequest(idToken: "id", updateMask: FieldMask(paths: ["display_name"]), newPassword: $0)
  },
  TextField(path: accounts + "Update", name: "continue_uri", bytesMax: 2_048) {
    UpdateRequest(idToken: "id", newPassword: "long enough", continueURI: $0)
  },
  TextField(path: accounts + "Merge", name: "keep.field", bytesMax: 72, mayBeEmpty: false) {
    API.MergeRequest(
      survivorIDToken: "id", otherIDToken: "id", keep: [API.MergeKeep(field: $0, fromAccountID: "a")])
  },
  TextField(path: accounts + "Merge", name: "keep.from_account_id", bytesMax: 128, mayBeEmpty: false) {
    API.MergeRequest(
      survivorIDToken: "id", otherIDToken: "id", keep: [API.MergeKeep(field: "phone", fromAccountID: $0)])
  },
  TextField(path: admin + "Lookup", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    LookupRequest(subject: .accountID($0))
  },
  TextField(path: admin + "RevokeSigningKey", name: "key_id", bytesMax: 128, mayBeEmpty: false) {
    RevokeSigningKeyRequest(keyID: $0)
  },
  TextField(path: admin + "SetDisabled", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    SetDisabledRequest(accountID: $0)
  },
  TextField(path: admin + "SetCustomClaims", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    SetCustomClaimsRequest(accountID: $0)
  },
  TextField(path: admin + "RevokeSessions", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    RevokeSessionsRequest(accountID: $0)
  },
  TextField(path: admin + "ListEvents", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    ListEventsRequest(subject: .accountID($0))
  },
  TextField(path: admin + "ListEvents", name: "page_token", bytesMax: 256) {
    ListEventsRequest(subject: .accountID("account-ada"), pageToken: $0)
  },
  TextField(path: admin + "DiagnoseSignIn", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    DiagnoseSignInRequest(subject: .accountID($0))
  },
  TextField(path: admin + "Unlock", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    UnlockRequest(subject: .accountID($0))
  },
  TextField(path: admin + "ListSessions", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    AdminServiceListSessionsRequest(accountID: $0)
  },
  TextField(path: admin + "ListMessages", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    ListMessagesRequest(accountID: $0)
  },
  TextField(path: admin + "ResendMessage", name: "message_id", bytesMax: 128, mayBeEmpty: false) {
    ResendMessageRequest(messageID: $0)
  },
  TextField(path: admin + "DeleteAccount", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    DeleteAccountRequest(accountID: $0)
  },
  TextField(path: admin + "RemoveSecondFactors", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    RemoveSecondFactorsRequest(accountID: $0)
  },
  TextField(path: admin + "UnlinkProvider", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    UnlinkProviderRequest(accountID: $0, providerID: "google.com")
  },
  TextField(path: admin + "UnlinkProvider", name: "provider_id", bytesMax: 72, mayBeEmpty: false) {
    UnlinkProviderRequest(accountID: "account", providerID: $0)
  },
  TextField(path: admin + "UnlinkProvider", name: "subject", bytesMax: 255) {
    UnlinkProviderRequest(accountID: "account", providerID: "google.com", subject: $0)
  },
  TextField(path: admin + "Lookup", name: "identity.provider_id", bytesMax: 72, mayBeEmpty: false) {
    LookupRequest(subject: .identity(ProviderIdentity(providerID: $0, subject: "s")))
  },
  TextField(path: admin + "Lookup", name: "identity.subject", bytesMax: 255, mayBeEmpty: false) {
    LookupRequest(subject: .identity(ProviderIdentity(providerID: "google.com", subject: $0)))
  },
]

private let anonymous = Credential(kind: .anonymous(AnonymousCredential()))

/// Every method that works for a session or with one of our tokens.
private let tokenFields: [TextField] = [
  TextField(path: auth + "Link", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    API.LinkRequest(idToken: $0, credential: anonymous)
  },
  TextField(path: auth + "Unlink", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    API.UnlinkRequest(idToken: $0, providerID: "google.com")
  },
  TextField(path: auth + "Reauthenticate", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    API.ReauthenticateRequest(idToken: $0, credential: anonymous)
  },
  TextField(path: auth + "FetchProviders", name: "pending_token", bytesMax: handleBytesMax, mayBeEmpty: false) {
    API.FetchProvidersRequest(subject: .pendingToken($0))
  },
  TextField(path: accounts + "Get", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    GetRequest(idToken: $0)
  },
  TextField(path: accounts + "Update", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    UpdateRequest(idToken: $0, newPassword: "long enough")
  },
  TextField(path: accounts + "Merge", name: "survivor_id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    API.MergeRequest(survivorIDToken: $0, otherIDToken: "id")
  },
  TextField(path: accounts + "Merge", name: "other_id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    API.MergeRequest(survivorIDToken: "id", otherIDToken: $0)
  },
  TextField(path: accounts + "Delete", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    DeleteRequest(idToken: $0)
  },
  TextField(path: sessions + "Refresh", name: "refresh_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    RefreshRequest(refreshToken: $0)
  },
  TextField(path: sessions + "SignOut", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    API.SignOutRequest(idToken: $0)
  },
  TextField(path: sessions + "SignOut", name: "refresh_token", bytesMax: tokenBytesMax) {
    API.SignOutRequest(refreshToken: $0.isEmpty ? "refresh" : $0)
  },
  TextField(path: sessions + "SignOut", name: "session_cookie", bytesMax: tokenBytesMax) {
    API.SignOutRequest(sessionCookie: $0.isEmpty ? "cookie" : $0)
  },
  TextField(path: sessions + "CreateSessionCookie", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    CreateSessionCookieRequest(idToken: $0, validForSeconds: 300)
  },
  TextField(
    path: sessions + "VerifySessionCookie", name: "session_cookie", bytesMax: tokenBytesMax, mayBeEmpty: false
  ) {
    VerifySessionCookieRequest(sessionCookie: $0)
  },
  TextField(path: sessions + "RevokeAll", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    RevokeAllRequest(idToken: $0)
  },
  TextField(path: sessions + "EndSession", name: "id_token", bytesMax: tokenBytesMax) {
    EndSessionRequest(idToken: $0, sessionID: "session")
  },
  TextField(path: sessions + "EndSession", name: "session_id", bytesMax: 128, mayBeEmpty: false) {
    EndSessionRequest(idToken: "id", sessionID: $0)
  },
  TextField(path: sessions + "ListSessions", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    ListSessionsRequest(idToken: $0)
  },
  TextField(path: sessions + "VerifyIdToken", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) {
    VerifyIdTokenRequest(idToken: $0)
  },
]

private let passkeys = "/latchkey.v1.PasskeyService/"

private func passkey(_ change: (inout PasskeyCredential) -> Void) -> SignInRequest {
  var credential = PasskeyCredential(ceremony: .signInID("id"), credentialJSON: "{}")
  change(&credential)
  return signIn(.passkey(credential))
}

private let passkeyFields: [TextField] = [
  TextField(path: auth + "SignIn", name: "credential.passkey.sign_in_id", bytesMax: 128, mayBeEmpty: false) { text in
    passkey { $0.ceremony = .signInID(text) }
  },
  TextField(path: auth + "SignIn", name: "credential.passkey.registration_id", bytesMax: 128, mayBeEmpty: false) {
    text in passkey { $0.ceremony = .registrationID(text) }
  },
  TextField(
    path: auth + "SignIn", name: "credential.passkey.credential_json", bytesMax: tokenBytesMax, mayBeEmpty: false
  ) { text in passkey { $0.credentialJSON = text } },
  TextField(path: auth + "SignIn", name: "credential.passkey.name", bytesMax: 256) { text in
    passkey { $0.name = text }
  },
  TextField(path: passkeys + "StartRegistration", name: "id_token", bytesMax: tokenBytesMax) {
    StartRegistrationRequest(idToken: $0)
  },
  TextField(path: passkeys + "StartRegistration", name: "rp_id", bytesMax: 253) { StartRegistrationRequest(rpID: $0) },
  TextField(path: passkeys + "StartRegistration", name: "user_name", bytesMax: 256) {
    StartRegistrationRequest(userName: $0)
  },
  TextField(path: passkeys + "StartRegistration", name: "display_name", bytesMax: 256) {
    StartRegistrationRequest(displayName: $0)
  },
  TextField(path: passkeys + "FinishRegistration", name: "registration_id", bytesMax: 128, mayBeEmpty: false) {
    FinishRegistrationRequest(idToken: "t", registrationID: $0, credentialJSON: "{}")
  },
  TextField(
    path: passkeys + "FinishRegistration", name: "credential_json", bytesMax: tokenBytesMax, mayBeEmpty: false
  ) { FinishRegistrationRequest(idToken: "t", registrationID: "id", credentialJSON: $0) },
  TextField(path: passkeys + "FinishRegistration", name: "name", bytesMax: 256) {
    FinishRegistrationRequest(idToken: "t", registrationID: "id", credentialJSON: "{}", name: $0)
  },
  TextField(path: passkeys + "StartSignIn", name: "rp_id", bytesMax: 253) { StartSignInRequest(rpID: $0) },
  TextField(path: passkeys + "RenamePasskey", name: "passkey_id", bytesMax: 128, mayBeEmpty: false) {
    RenamePasskeyRequest(idToken: "t", passkeyID: $0)
  },
  TextField(path: passkeys + "RenamePasskey", name: "name", bytesMax: 256) {
    RenamePasskeyRequest(idToken: "t", passkeyID: "id", name: $0)
  },
  TextField(path: passkeys + "RemovePasskey", name: "passkey_id", bytesMax: 128, mayBeEmpty: false) {
    RemovePasskeyRequest(idToken: "t", passkeyID: $0)
  },
]

private let flows = "/latchkey.v1.ProviderFlowService/"

private func revocation(_ change: (inout API.TokenToRevoke) -> Void) -> RevokeTokenRequest {
  var token = API.TokenToRevoke(providerID: "apple.com", token: "t", kind: .authorizationCode)
  change(&token)
  return RevokeTokenRequest(idToken: "id", token: token)
}

private let revocationFields: [TextField] = [
  TextField(path: flows + "RevokeToken", name: "id_token", bytesMax: tokenBytesMax, mayBeEmpty: false) { text in
    var request = revocation { _ in }
    request.idToken = text
    return request
  },
  TextField(path: flows + "RevokeToken", name: "token.provider_id", bytesMax: 72, mayBeEmpty: false) { text in
    revocation { $0.providerID = text }
  },
  TextField(path: flows + "RevokeToken", name: "token.token", bytesMax: tokenBytesMax, mayBeEmpty: false) { text in
    revocation { $0.token = text }
  },
  TextField(path: flows + "RevokeToken", name: "token.client_id", bytesMax: 255) { text in
    revocation { $0.clientID = text }
  },
  TextField(path: flows + "RevokeToken", name: "token.redirect_uri", bytesMax: 2_048) { text in
    revocation { $0.redirectURI = text }
  },
  TextField(
    path: accounts + "Delete", name: "tokens_to_revoke.token", bytesMax: tokenBytesMax, mayBeEmpty: false
  ) { text in
    DeleteRequest(
      idToken: "id", tokensToRevoke: [API.TokenToRevoke(providerID: "google.com", token: text, kind: .accessToken)])
  },
]

private let fields =
  credentialFields + callFields + adminFields + tokenFields + passkeyFields + revocationFields

/// The methods of users and administrators, and those of flows.
private var served: [Method] {
  let world = World(facts: .adaSignedIn)
  return methods(world) + ProviderFlowService(world.shared).methods
}

/// The failure of the request's shape check before any look-up, or nil if it passes.
private func refusal(_ field: TextField, _ text: String) throws -> Failure? {
  do {
    _ = try begin(try method(field.path, of: served), field.request(text))
    return nil
  } catch let failure as Failure where failure.reason == .invalidField {
    return failure
  } catch is Failure {
    // The fake store found nothing, so the shape was valid.
    return nil
  }
}

@Test(arguments: fields)
func `a text field accepts its limit in bytes, and one more is rejected with its name`(field: TextField) throws {
  #expect(try refusal(field, String(repeating: "x", count: field.bytesMax)) == nil)
  let past = try #require(try refusal(field, String(repeating: "x", count: field.bytesMax + 1)))
  #expect(past.field == field.name)
  // Two bytes for each letter: limits count bytes, not characters.
  let wide = String(repeating: "é", count: field.bytesMax / 2)
  #expect(try refusal(field, wide) == nil)
  #expect(try refusal(field, wide + "é")?.field == field.name)
}

@Test(arguments: fields)
func `an empty required field is rejected with its name`(field: TextField) throws {
  #expect(try refusal(field, "")?.field == (field.mayBeEmpty ? nil : field.name))
}

@Test(arguments: [(15, false), (16, true), (256, true), (257, false)])
func `a binding is 16 to 256 bytes, or left out`(count: Int, isTaken: Bool) throws {
  let digest = { try Shape.binding(String(repeating: "b", count: count)) }
  if isTaken {
    #expect(try digest() == [UInt8](repeating: UInt8(ascii: "b"), count: count))
  } else {
    #expect(throws: Failure.self) { try digest() }
  }
  #expect(try Shape.binding("") == nil)
}
