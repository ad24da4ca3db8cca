import Identity
import Store
import Testing
import API

@testable import Services

/// The failure of a closure that must fail.
func failure<R>(_ body: () throws -> R, sourceLocation: SourceLocation = #_sourceLocation) -> Failure? {
  do {
    let answer = try body()
    Issue.record("answered: \(answer)", sourceLocation: sourceLocation)
  } catch let failure as Failure {
    return failure
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
  return nil
}

@Test func `a missing or unknown credential is rejected with its field`() {
  for credential in [nil, API.Credential()] {
    let failure = failure { try Shape.credential(credential) }
    #expect(failure?.reason == .invalidField && failure?.field == "credential")
  }
}

@Test func `a code must name its verification, and has a maximum length`() throws {
  func phone(_ id: String, _ code: String) throws -> Identity.Credential {
    try Shape.credential(
      API.Credential(kind: .phoneCode(PhoneCodeCredential(verificationID: id, code: code))))
  }
  func link(_ email: String, _ code: String) throws -> Identity.Credential {
    try Shape.credential(API.Credential(kind: .emailLink(EmailLinkCredential(email: email, code: code))))
  }
  #expect(try phone("id", "012345") == .phoneCode(verificationID: "id", digits: "012345"))
  #expect(try link("Ada@EXAMPLE.com", "code") == .emailLink(email: "ada@example.com", code: "code"))
  let (long, longest) = (String(repeating: "1", count: 129), String(repeating: "1", count: 128))
  #expect(failure { try phone("", "1") }?.field == "credential.phone_code.verification_id")
  #expect(failure { try phone("id", "") }?.field == "credential.phone_code.code")
  #expect(failure { try phone("id", long) }?.field == "credential.phone_code.code")
  #expect(try phone("id", longest) == .phoneCode(verificationID: "id", digits: longest))
  #expect(failure { try link("ada", "code") }?.reason == .invalidEmail)
  #expect(failure { try link("ada@example.com", "") }?.field == "credential.email_link.code")
}

@Test(arguments: [
  ("", ""), ("de", "de"), ("de-CH-1996", "de-CH-1996"), ("de_AT", "de-AT"), ("zh_Hant_TW", "zh-Hant-TW"),
  ("de_AT.UTF-8", "de-AT"), ("sr_RS@latin", "sr-RS"), ("de-AT,de;q=0.9", "de-AT"), ("C", "C"), ("d e", "d"),
  ("../de", ""), ("ä", ""), ("de\u{0}", "de"), (String(repeating: "a", count: 35), String(repeating: "a", count: 35)),
  (String(repeating: "a", count: 36), ""), ("de-" + String(repeating: "a", count: 33), "de"),
  ("de-" + String(repeating: "a", count: 32), "de-" + String(repeating: "a", count: 32)),
])
func `a locale is read as a language tag, and never rejected`(_ text: String, tag: String) {
  #expect(Shape.locale(text) == tag)
}

@Test func `a phone code is sent for one of its purposes, with an ID token if required`() throws {
  func order(_ purpose: ProofPurpose?, _ idToken: String = "") throws -> Identity.SendPhoneCodeRequest {
    try Shape.phoneCode(
      API.SendPhoneCodeRequest(phoneNumber: "+44 1632 960-961", purpose: purpose, idToken: idToken, locale: "de"))
  }
  for purpose in [ProofPurpose.unspecified, .signIn] {
    #expect(try order(purpose) == Identity.SendPhoneCodeRequest(phoneNumber: "+441632960961", locale: "de"))
  }
  #expect(try order(.link, "token").purpose == .link)
  #expect(try order(.reauthenticate, "token").idToken == "token")
  #expect(failure { try order(.link) }?.field == "id_token")
  #expect(failure { try order(nil) }?.field == "purpose")
}

@Test func `a provider's token needs an ID token or an access token`() throws {
  func credential(_ idToken: String, _ accessToken: String) throws -> Identity.Credential {
    try Shape.credential(
      API.Credential(
        kind: .providerToken(
          ProviderTokenCredential(
            providerID: "google.com", idToken: idToken, accessToken: accessToken, tokenSecret: "secret",
            rawNonce: "nonce"))))
  }
  let failure = failure { try credential("", "") }
  #expect(failure?.reason == .invalidField && failure?.field == "credential.provider_token.id_token")
  for (idToken, accessToken) in [("id", ""), ("", "access"), ("id", "access")] {
    let expected = ProviderToken(
      providerID: "google.com", idToken: idToken, accessToken: accessToken, tokenSecret: "secret", rawNonce: "nonce")
    #expect(try credential(idToken, accessToken) == .providerToken(expected))
  }
}

@Test func `addresses and passwords reach the domain in their canonical spelling`() throws {
  let credential = API.Credential(
    kind: .password(PasswordCredential(email: " Ada@EXAMPLE.com ", password: "pass\u{212B}word")))
  #expect(try Shape.credential(credential) == .password(email: "ada@example.com", password: "pass\u{C5}word"))
  #expect(try Shape.phoneNumber("+44 1632 960-961", "phone_number") == "+441632960961")
}

@Test(arguments: ["", "ada", "ada@", "@example.com", "ada@example", "a b@example.com", "ada＠example.com"])
func `an invalid address has its own reason and names its field`(address: String) {
  let failure = failure {
    try Shape.credential(API.Credential(kind: .password(PasswordCredential(email: address, password: "x"))))
  }
  #expect(failure?.reason == .invalidEmail && failure?.field == "credential.password.email")
}

@Test(arguments: ["", "5551234", "+0123456789", "+44", "+441632960961x"])
func `an invalid number has its own reason and names its field`(number: String) {
  let failure = failure { try Shape.phoneNumber(number, "phone_number") }
  #expect(failure?.reason == .invalidPhoneNumber && failure?.field == "phone_number")
}

@Test(arguments: ["javascript:alert(1)", "data:text/html,x", "//example.com/a.png", "ftp://example.com", "HTTPS://x"])
func `a photo URL is a web address, or empty`(url: String) throws {
  let failure = failure { try Shape.webURL(url, "photo_url") }
  #expect(failure?.reason == .invalidField && failure?.field == "photo_url")
  for taken in ["", "https://example.com/a.png", "http://example.com/a.png"] {
    #expect(try Shape.webURL(taken, "photo_url") == taken)
  }
}

@Test func `no error about a shape repeats the sent value`() {
  let secret = String(repeating: "hunter2", count: 3_000)
  let failures = [
    failure { try Shape.password(secret, "password") }, failure { try Shape.token(secret, "id_token") },
    failure { try Shape.email(secret, "email") }, failure { try Shape.phoneNumber(secret, "phone_number") },
    failure { try Shape.binding(secret) },
  ]
  for failure in failures { #expect(failure?.hint.contains("hunter2") == false) }
}

@Test func `a redirect requires its flow and its URL, each within its limit`() throws {
  func credential(_ flowID: String, _ callbackURI: String) throws -> Identity.Credential {
    try Shape.credential(
      API.Credential(
        kind: .authorizationResponse(AuthorizationResponse(flowID: flowID, callbackURI: callbackURI))))
  }
  let longest = String(repeating: "a", count: Shape.callbackURIBytesMax)
  #expect(
    try credential("flow", longest)
      == .authorizationResponse(Identity.AuthorizationResponse(flowID: "flow", callbackURI: longest)))
  for (flowID, uri, field) in [
    ("", "x", "flow_id"), ("flow", "", "callback_uri"), ("flow", longest + "a", "callback_uri"),
  ] {
    let failure = failure { try credential(flowID, uri) }
    #expect(failure?.reason == .invalidField && failure?.field == "credential.authorization_response." + field)
  }
}

@Test func `the error for a token to revoke names the wrong field`() throws {
  var right = API.TokenToRevoke(
    providerID: "apple.com", token: "t", kind: .authorizationCode, clientID: "app", redirectURI: "https://app.example/")
  let token = try Shape.tokenToRevoke(right, "token")
  #expect(token.kind == .authorizationCode && token.clientID == "app")
  #expect(failure { try Shape.tokenToRevoke(nil, "token") }?.field == "token.provider_id")
  let wrong: [(field: String, change: (inout API.TokenToRevoke) -> Void)] = [
    ("kind", { $0.kind = nil }), ("kind", { $0.kind = .unspecified }), ("client_id", { $0.providerID = "google.com" }),
    ("redirect_uri", { $0.kind = .accessToken }), ("token", { $0.token = "" }),
  ]
  for (field, change) in wrong {
    var request = right
    change(&request)
    let failure = failure { try Shape.tokenToRevoke(request, "token") }
    #expect(failure?.reason == .invalidField && failure?.field == "token." + field)
  }
  right.kind = .refreshToken
  right.redirectURI = ""
  #expect(try Shape.tokenToRevoke(right, "token").kind == .refreshToken)
}

@Test func `Delete takes at most 8 tokens to revoke, and states a result for each`() async throws {
  let token = API.TokenToRevoke(providerID: "google.com", token: "t", kind: .accessToken)
  var facts = Facts.adaSignedIn
  facts.sessionAccount?.factors = []
  let delete = try method("/latchkey.v1.AccountService/Delete", of: methods(World(facts: facts)))
  var request = DeleteRequest(idToken: "good", tokensToRevoke: Array(repeating: token, count: Shape.tokensToRevokeMax))
  let response = try await answer(delete, request, as: DeleteResponse.self)
  #expect(response.revocations.count == Shape.tokensToRevokeMax)
  #expect(response.revocations.allSatisfy { $0.providerID == "google.com" })
  request.tokensToRevoke.append(token)
  let failure = failure { try begin(delete, request) }
  #expect(failure?.reason == .invalidField && failure?.field == "tokens_to_revoke")
}

@Test func `the error for a flow request names the wrong field`() throws {
  var right = API.StartFlowRequest(providerID: "twitter.com", redirectURI: "https://app.example/callback")
  let longestScope = String(repeating: "s", count: Shape.scopeBytesMax)
  right.scopes = [String](repeating: longestScope, count: Shape.scopesMax)
  right.customParameters = Dictionary(
    uniqueKeysWithValues: (0..<Shape.customParametersMax).map {
      ("p\($0)", String(repeating: "v", count: Shape.customParameterBytesMax))
    })
  let flow = try Shape.flow(right)
  #expect(flow.purpose == .signIn && flow.scopes.count == Shape.scopesMax && flow.parameters == right.customParameters)
  let wrong: [(field: String, change: (inout API.StartFlowRequest) -> Void)] = [
    ("provider_id", { $0.providerID = "" }), ("redirect_uri", { $0.redirectURI = "" }),
    ("redirect_uri", { $0.redirectURI = String(repeating: "a", count: Shape.urlBytesMax + 1) }),
    ("scopes", { $0.scopes.append("one more") }), ("scopes", { $0.scopes = [""] }),
    ("scopes", { $0.scopes = [String(repeating: "a", count: Shape.scopeBytesMax + 1)] }),
    ("custom_parameters", { $0.customParameters["one more"] = "" }),
    ("custom_parameters", { $0.customParameters = ["": "v"] }),
    (
      "custom_parameters",
      { $0.customParameters = ["p": String(repeating: "a", count: Shape.customParameterBytesMax + 1)] }
    ),
    ("login_hint", { $0.loginHint = String(repeating: "a", count: Shape.loginHintBytesMax + 1) }),
    ("purpose", { $0.purpose = nil }), ("id_token", { $0.purpose = .link }),
    ("id_token", { $0.purpose = .reauthenticate }),
  ]
  for (field, change) in wrong {
    var request = right
    change(&request)
    let failure = failure { try Shape.flow(request) }
    #expect(failure?.reason == .invalidField && failure?.field == field)
  }
}
