import Identity
import Testing
import Wire

@testable import Services

/// The failure of a closure that has to fail.
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

@Test func `a credential that is missing, or none of its kinds, is refused by its name`() {
  for credential in [nil, Wire.Credential()] {
    let failure = failure { try Shape.credential(credential) }
    #expect(failure?.reason == .invalidField && failure?.field == "credential")
  }
}

@Test func `kinds of credentials that are not served yet are not allowed, instead of unknown`() {
  let kinds: [Wire.Credential.Kind] = [
    .authorizationResponse(AuthorizationResponse()), .phoneCode(PhoneCodeCredential()),
    .emailLink(EmailLinkCredential()),
  ]
  for kind in kinds {
    let failure = failure { try Shape.credential(Wire.Credential(kind: kind)) }
    #expect(failure?.reason == .operationNotAllowed && failure?.field == "credential")
  }
}

@Test func `a provider's token needs an ID token or an access token`() throws {
  func credential(_ idToken: String, _ accessToken: String) throws -> Identity.Credential {
    try Shape.credential(
      Wire.Credential(
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

@Test func `addresses and passwords reach the domain in their one spelling`() throws {
  let credential = Wire.Credential(
    kind: .password(PasswordCredential(email: " Ada@EXAMPLE.com ", password: "pass\u{212B}word")))
  #expect(try Shape.credential(credential) == .password(email: "ada@example.com", password: "pass\u{C5}word"))
  #expect(try Shape.phoneNumber("+44 1632 960-961", "phone_number") == "+441632960961")
}

@Test(arguments: ["", "ada", "ada@", "@example.com", "ada@example", "a b@example.com", "ada＠example.com"])
func `an address that is none has its own reason and names its field`(address: String) {
  let failure = failure {
    try Shape.credential(Wire.Credential(kind: .password(PasswordCredential(email: address, password: "x"))))
  }
  #expect(failure?.reason == .invalidEmail && failure?.field == "credential.password.email")
}

@Test(arguments: ["", "5551234", "+0123456789", "+44", "+441632960961x"])
func `a number that is none has its own reason and names its field`(number: String) {
  let failure = failure { try Shape.phoneNumber(number, "phone_number") }
  #expect(failure?.reason == .invalidPhoneNumber && failure?.field == "phone_number")
}

@Test(arguments: ["javascript:alert(1)", "data:text/html,x", "//example.com/a.png", "ftp://example.com", "HTTPS://x"])
func `a photo is at a web address, or nowhere`(url: String) throws {
  let failure = failure { try Shape.webURL(url, "photo_url") }
  #expect(failure?.reason == .invalidField && failure?.field == "photo_url")
  for taken in ["", "https://example.com/a.png", "http://example.com/a.png"] {
    #expect(try Shape.webURL(taken, "photo_url") == taken)
  }
}

@Test func `no refusal of a shape repeats what was sent`() {
  let secret = String(repeating: "hunter2", count: 3_000)
  let failures = [
    failure { try Shape.password(secret, "password") }, failure { try Shape.token(secret, "id_token") },
    failure { try Shape.email(secret, "email") }, failure { try Shape.phoneNumber(secret, "phone_number") },
    failure { try Shape.binding(secret) },
  ]
  for failure in failures { #expect(failure?.hint.contains("hunter2") == false) }
}
