import Identity
import Store
import TestSupport
import Testing
import API
import Protobuf

@testable import Services

private let tokens = {
  var tokens = ProviderTokens(providerID: "google.com")
  tokens.accessToken = "access"
  tokens.idToken = "id"
  tokens.secret = "secret"
  tokens.refreshToken = "refresh"
  tokens.expiresInMillis = 3_600_000
  tokens.grantedScopes = ["email"]
  return tokens
}()
private let handedBack = ProviderCredential(
  providerID: "google.com", accessToken: "access", idToken: "id", secret: "secret", refreshToken: "refresh",
  expiresInMillis: 3_600_000, grantedScopes: ["email"])
private let userInfo = UserInfo(providerID: "google.com", username: "ada", profileJSON: "{}")

private func grant(_ userInfo: UserInfo? = nil) -> SessionGrant {
  var grant = SessionGrant(
    idToken: "id-token", idTokenExpiresAt: Timestamp(millis: 10), refreshToken: "refresh-token",
    refreshTokenExpiresAt: Timestamp(millis: 20), sessionID: "session-1", account: ada())
  grant.userInfo = userInfo
  return grant
}

@Test(arguments: [
  ("+441632960961", "+********0961"), ("+12345", "+*2345"), ("+1234", "+1234"), ("1234", "****"), ("", ""),
])
func `a masked number shows four digits at most and keeps its length`(number: String, masked: String) {
  #expect(SecondFactorHint.masked(number) == masked)
}

@Test func `an account message equals the record, with each sign-in method`() {
  let account = API.Account(ada())
  #expect(account.accountID == "account-ada" && account.email == "ada@example.com" && account.emailVerified)
  #expect(account.phoneNumber == "+441632960961" && account.displayName == "Ada")
  #expect(account.photoURL == "https://example.com/ada.png" && account.customClaimsJSON == "{\"a\":1}")
  #expect(!account.anonymous && !account.disabled)
  #expect(account.createdAtMillis == 1_000 && account.lastSignInAtMillis == 3_000)
  #expect(
    account.providers == [
      LinkedProvider(
        providerID: "password", subject: "ada@example.com", email: "ada@example.com", linkedAtMillis: 2_000),
      LinkedProvider(
        providerID: "phone", subject: "+441632960961", phoneNumber: "+441632960961", linkedAtMillis: 2_500),
      LinkedProvider(
        providerID: "google.com", subject: "g-1", email: "ada@gmail.com", displayName: "Ada at Google",
        photoURL: "https://google.com/ada.png", linkedAtMillis: 4_000),
    ])
  #expect(
    account.secondFactors == [
      SecondFactorHint(
        factorID: "factor-1", kind: .phone, displayName: "mine", maskedPhoneNumber: "+********0962",
        enrolledAtMillis: 5_000)
    ])
}

@Test func `an empty account has empty fields and no sign-in methods`() {
  var record = AccountRecord(id: "bare", createdAt: Timestamp(millis: 1))
  record.anonymous = true
  record.disabled = true
  let account = API.Account(AccountState(account: record))
  #expect(account == API.Account(accountID: "bare", anonymous: true, disabled: true, createdAtMillis: 1))
}

@Test func `messages have no field for password hashes or sealed secrets`() {
  var state = ada()
  state.account.passwordHash = "$argon2id$hash"
  state.factors[0].sealedSecret = Array("sealed".utf8)
  let bytes = String(decoding: API.Account(state).encodeBare(arena: roomyArena()), as: UTF8.self)
  #expect(!bytes.contains("argon2id") && !bytes.contains("sealed"))
}

@Test func `a session message equals the grant`() {
  var grant = grant(userInfo)
  grant.isNewAccount = true
  grant.revokedProviderIDs = ["password"]
  grant.tokens = tokens
  let session = API.Session(grant)
  #expect(
    session
      == API.Session(
        idToken: "id-token", idTokenExpiresAtMillis: 10, refreshToken: "refresh-token", account: API.Account(ada()),
        isNewAccount: true,
        additionalUserInfo: AdditionalUserInfo(providerID: "google.com", username: "ada", profileJSON: "{}"),
        providerCredential: handedBack, revokedProviderIDs: ["password"], sessionID: "session-1",
        refreshTokenExpiresAtMillis: 20))
}

@Test func `a session states when a second factor is due, and whether it is restricted`() {
  var grant = grant(userInfo)
  let due = Timestamp(millis: 40)
  #expect(!API.Session(grant).isRestricted && API.Session(grant).secondFactorDueAtMillis == nil)
  grant.secondFactorDuty = .due(due)
  #expect(!API.Session(grant).isRestricted && API.Session(grant).secondFactorDueAtMillis == 40)
  grant.secondFactorDuty = .overdue(due)
  #expect(API.Session(grant).isRestricted && API.Session(grant).secondFactorDueAtMillis == 40)
}

@Test func `a session without provider tokens returns none`() {
  #expect(API.Session(grant(userInfo)).providerCredential == nil)
}

@Test func `a conflict contains the email address, the methods and the pending token, but no account`() {
  let conflict = Identity.AccountExists(
    email: "ada@example.com", providerIDs: ["google.com"], methods: ["google.com", "password"], handle: "handle",
    expiresAt: Timestamp(millis: 30), userInfo: userInfo, tokens: tokens, reason: .subjectChanged,
    canClaimAddress: true)
  let message = API.AccountExists(conflict)
  #expect(
    message
      == API.AccountExists(
        email: "ada@example.com", providerIDs: ["google.com"], signInMethods: ["google.com", "password"],
        pendingToken: "handle", pendingExpiresAtMillis: 30, providerCredential: handedBack,
        additionalUserInfo: AdditionalUserInfo(providerID: "google.com", username: "ada", profileJSON: "{}"),
        reason: .subjectChanged, canClaimAddress: true))
}

@Test func `a credential in use and a second factor contain a pending token and the provider's tokens`() {
  let inUse = Identity.CredentialInUse(
    email: nil, handle: "handle", expiresAt: Timestamp(millis: 30), tokens: tokens)
  #expect(
    API.CredentialInUse(inUse)
      == API.CredentialInUse(pendingToken: "handle", pendingExpiresAtMillis: 30, providerCredential: handedBack))
  let required = Identity.SecondFactorRequired(
    handle: "handle", factors: ada().factors, expiresAt: Timestamp(millis: 30), userInfo: userInfo, tokens: tokens)
  let message = API.SecondFactorRequired(required)
  #expect(message.pendingToken == "handle" && message.expiresAtMillis == 30)
  #expect(message.hints.map(\.maskedPhoneNumber) == ["+********0962"])
  #expect(message.providerCredential == handedBack && message.additionalUserInfo?.username == "ada")
}

@Test func `the answer about an address describes the pending credential`() {
  var answer = ProvidersAnswer()
  #expect(API.FetchProvidersResponse(answer) == API.FetchProvidersResponse())
  answer.registered = true
  answer.providerIDs = ["google.com"]
  answer.methods = ["google.com"]
  answer.pending = PendingCredentialInfo(
    purpose: .credentialInUse, providerID: "oidc.corp", email: nil, username: "ada", displayName: "Ada",
    expiresAt: Timestamp(millis: 40))
  #expect(
    API.FetchProvidersResponse(answer)
      == API.FetchProvidersResponse(
        registered: true, providerIDs: ["google.com"], signInMethods: ["google.com"],
        pending: PendingCredential(
          purpose: .credentialInUse, providerID: "oidc.corp", username: "ada", displayName: "Ada",
          expiresAtMillis: 40)))
}
