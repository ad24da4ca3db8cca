import Sealed
import Store
import Testing

@testable import Identity

/// A field that only a newer version knows: number 100, one byte.
private let unknownField: [UInt8] = [0xA2, 0x06, 0x01, 0x7A]

@Suite struct SealedContentTests {
  private let digest = Digest([UInt8](repeating: 7, count: 32))
  private let later = beginning.adding(millis: 1)

  private var sentCode: Identity.SentCode {
    Identity.SentCode(
      factorID: "factor", code: "012345", verification: digest, expiresAt: later, attemptsThen: 5, sends: 2)
  }

  private var flow: Identity.PendingFlow {
    let order = FlowOrder(
      providerID: "oidc.corp", redirectURI: "https://a.example/", freshLogin: true, state: "state", nonce: "nonce",
      codeVerifier: "verifier")
    return Identity.PendingFlow(
      order, purpose: .link, accountID: "account", startedAt: beginning, stateIsEchoed: true, kept: "kept")
  }

  private let code = Identity.PendingCode(
    purpose: .reauthenticate, accountID: "account", digits: "012345", continueURI: "https://a.example/", locale: "de",
    anyBinding: true, emailPurpose: .changeEmail, sessionID: "session", carriesLink: true,
    isInvitation: true)

  private var assertion: Identity.PendingAssertion {
    var assertion = google(tier: .verified)
    assertion.displayName = "Ada \u{1F600}"
    assertion.photoURL = "https://a.example/ada.png"
    assertion.username = "ada"
    // More combining marks than a client may send.
    assertion.profileJSON = "{\"name\":\"a" + String(repeating: "\u{301}", count: 64) + "\"}"
    var held = Identity.PendingAssertion(
      assertion, firstFactor: FirstFactor(signInProviderID: "custom", methods: ["custom", "mfa"], claimsJSON: "{}"),
      singleUse: SingleUse(digest: digest, expiresAt: later))
    held.intent = .reauthenticate
    held.sessionID = "session"
    held.passwordHash = "$argon2id$"
    held.completing = digest
    held.existingOnly = true
    held.claimAddress = true
    held.sentCode = sentCode
    held.assertion.passkey = passkey.packed
    held.assertion.transferSubject = "transfer-1"
    held.passkeyChallenge = challenge
    return held
  }

  private var enrollment: Identity.PendingEnrollment {
    Identity.PendingEnrollment(
      kind: .phone, sessionID: "session", displayName: "mine", secret: [1, 2], phoneNumber: number, sentCode: sentCode,
      passkeyChallenge: challenge)
  }

  private var challenge: Identity.PasskeyChallenge {
    Identity.PasskeyChallenge(
      purpose: .reauthenticate, accountID: "account", relyingPartyID: "example.com", challenge: [1, 2],
      userHandle: [3, 4], factorID: "factor", identified: true, email: "ada@example.com", expiresAt: later)
  }

  private var passkey: Identity.Passkey {
    var passkey = Identity.Passkey(
      relyingPartyID: "example.com", credentialID: [1], userHandle: [2], publicKey: [3], algorithm: -7, signCount: 4,
      backupEligible: true, backedUp: true, userVerified: true, aaguid: [5], transports: ["usb"])
    passkey.lastUsedAt = later
    return passkey
  }

  private var answers: [Identity.StoredAnswer] {
    let factor = FactorRecord(
      id: "f", accountID: "a", kind: .phone, displayName: "mine", phoneNumber: number, enrolledAt: beginning)
    return [
      .accountExists(
        AccountExists(
          email: ada, providerIDs: ["google.com", "oidc.corp"], methods: ["password"], handle: "handle",
          expiresAt: later, reason: .askAdministrator, canClaimAddress: true)),
      .credentialInUse(CredentialInUse(email: ada, handle: "handle", expiresAt: later)),
      .secondFactorRequired(
        SecondFactorRequired(handle: "handle", factors: Array(repeating: factor, count: 64), expiresAt: later)),
    ]
  }

  /// Checks a value whose message has all fields.
  private func check<Value: SealedContent & Equatable>(_ value: Value) throws {
    let packed = value.packed
    #expect(Value(packed: packed) == value)
    #expect(Value(packed: packed + unknownField) == value)
    for count in packed.indices {
      #expect(Value(packed: Array(packed.prefix(count))) != value, "\(Value.self) without its end")
    }
    #expect(Value(packed: packed.dropLast()) == nil)
    #expect(Value(packed: []) == nil)
    // A field that is added to the message needs a place in the conversion and in the sample.
    let blank = Mirror(reflecting: try #require(Value.Message(packed: []))).children
    for (field, empty) in zip(Mirror(reflecting: value.message).children, blank) {
      #expect("\(field.value)" != "\(empty.value)", "\(Value.self) has no \(field.label ?? "")")
    }
  }

  @Test func `what is sealed comes back, also with fields of a newer version, and not if it was cut`() throws {
    try check(flow)
    try check(code)
    try check(assertion)
    try check(enrollment)
    try check(sentCode)
    try check(challenge)
    try check(passkey)
    try check(Identity.FactorSecret.passkey(passkey))
    try check(Identity.FactorSecret.totp(secret: [1, 2, 3], lastStep: 57))
    try check(Identity.FactorSecret.recoveryCodes(RecoveryCodes(digests: [digest, digest])))
    for answer in answers { try check(answer) }
  }

  @Test func `optional values that are absent stay absent`() {
    let bare = Identity.PendingAssertion(corp(email: nil), firstFactor: .password)
    #expect(Identity.PendingAssertion(packed: bare.packed) == bare)
    let totp = Identity.PendingEnrollment(kind: .totp, sessionID: "session", displayName: "", secret: [1])
    #expect(Identity.PendingEnrollment(packed: totp.packed) == totp)
    let inUse = Identity.StoredAnswer.credentialInUse(CredentialInUse(email: nil, handle: "handle", expiresAt: later))
    #expect(Identity.StoredAnswer(packed: inUse.packed) == inUse)
    for secret in [Identity.FactorSecret.totp(secret: [1], lastStep: nil), .recoveryCodes(RecoveryCodes(digests: []))] {
      #expect(Identity.FactorSecret(packed: secret.packed) == secret)
    }
    #expect(Identity.PendingCode(packed: Identity.PendingCode().packed) == Identity.PendingCode())
  }

  /// The value of a message in which one field was changed; nil if it cannot be read.
  private func changed<Value: SealedContent>(_ value: Value, _ change: (inout Value.Message) -> Void) -> Value? {
    var message = value.message
    change(&message)
    return try? Value(message)
  }

  @Test func `a message without a field that every row has is none`() {
    #expect(changed(flow) { $0.purpose = .unspecified } == nil)
    #expect(changed(flow) { $0.purpose = nil } == nil)
    #expect(changed(flow) { $0.providerID = "" } == nil)
    #expect(changed(flow) { $0.startedAtMillis = nil } == nil)
    #expect(changed(code) { $0.purpose = .unspecified } == nil)
    #expect(changed(assertion) { $0.intent = .unspecified } == nil)
    #expect(changed(assertion) { $0.tier = .unspecified } == nil)
    #expect(changed(assertion) { $0.tier = nil } == nil)
    #expect(changed(assertion) { $0.providerID = "" } == nil)
    #expect(changed(assertion) { $0.completing = [1] } == nil)
    #expect(changed(assertion) { $0.singleUse?.digest = [] } == nil)
    #expect(changed(assertion) { $0.sentCode?.verification = [] } == nil)
    #expect(changed(enrollment) { $0.kind = "carrier pigeon" } == nil)
    #expect(changed(challenge) { $0.challenge = [] } == nil)
    #expect(changed(passkey) { $0.publicKey = [] } == nil)
    #expect(changed(passkey) { $0.credentialID = [] } == nil)
    #expect(changed(enrollment) { $0.sentCode?.expiresAtMillis = nil } == nil)
    let totp = Identity.PendingEnrollment(kind: .totp, sessionID: "session", displayName: "", secret: [1])
    #expect(changed(totp) { $0.secret = [] } == nil)
    #expect(changed(Identity.FactorSecret.totp(secret: [1], lastStep: nil)) { $0.secret = nil } == nil)
    #expect(
      changed(Identity.FactorSecret.totp(secret: [1], lastStep: nil)) { $0.secret = .totp(.init(secret: [])) } == nil)
    #expect(changed(answers[0]) { $0.handle = "" } == nil)
    #expect(changed(answers[0]) { $0.answer = nil } == nil)
  }

  @Test func `a row that does not open and one that cannot be decoded are reported differently`() {
    let (world, call) = (World(), World().call())
    func reason(_ plaintext: [UInt8], _ change: (inout PendingRecord) -> Void = { _ in }) -> String? {
      var record = world.environment.newPending(
        plaintext, purpose: .link, identity: google().identity, accountID: "account", lifetimeMillis: 1_000, call: call,
        now: world.now
      ).record
      change(&record)
      do {
        _ = try world.environment.openPending(record, purpose: .link, call: call, now: world.now)
        return nil
      } catch { return error.debug }
    }
    #expect(reason(assertion.packed) == nil)
    #expect(reason(assertion.packed) { $0.accountID = "other" } == "the row was changed after it was sealed")
    #expect(reason([]) == "the sealed content is of another version")
  }

  @Test func `the numbers of the enums are those of the messages, name by name`() throws {
    #expect(Identity.FlowPurpose.signIn.all == Sealed.FlowPurpose.unspecified.all.dropFirst())
    #expect(Identity.PendingAssertion.Intent.signIn.all == Sealed.PendingAssertion.Intent.unspecified.all.dropFirst())
    // The tiers of sealed rows begin at 1, those of the store at 0.
    for sealed in Sealed.TrustTier.allCases.dropFirst() {
      let held = try #require(changed(assertion) { $0.tier = sealed })
      #expect("\(held.assertion.tier)" == "\(sealed)")
      #expect(held.message.tier == sealed)
    }
  }

  @Test func `held texts and outgoing messages come back, also with fields of a newer version`() {
    let texts = Sealed.HeldTexts(texts: ["", "a", "ü"] + Array(repeating: "google.com", count: 300))
    #expect(Sealed.HeldTexts(packed: texts.packed + unknownField) == texts)
    #expect(Sealed.HeldTexts(packed: texts.packed.dropLast()) == nil)
    #expect(Sealed.HeldTexts(packed: Sealed.HeldTexts().packed) == Sealed.HeldTexts())
    for recipient in [Identity.OutgoingMessage.Recipient.email(ada), .phoneNumber(number)] {
      let message = Identity.OutgoingMessage(
        .signInMethods, to: recipient, locale: "de-AT", values: ["methods": "password", "provider_id": "ü"],
        expiresAt: later)
      let packed = message.packed
      #expect(Identity.OutgoingMessage(packed: packed + unknownField, expiresAt: later) == message)
      #expect(Identity.OutgoingMessage(packed: packed.dropLast(), expiresAt: later) == nil)
      #expect(Identity.OutgoingMessage(packed: [], expiresAt: later) == nil)
      #expect(packed == message.packed, "the digest of a notice depends on the bytes")
    }
  }
}

extension CaseIterable where Self: RawRepresentable {
  /// Names and numbers of all cases.
  fileprivate var all: ArraySlice<String> { Self.allCases.map { "\($0) \($0.rawValue)" }[...] }
}
