import Identity
import Store

/// Fakes of everything that a use case needs; one for each test.
struct World: Sendable {
  let store: MemoryStore
  let clock = FakeClock()
  let randomness: SeededRandomness
  private(set) var cryptography = FakeCryptography()
  let passwords = FakePasswords()
  let tokens = FakeTokens()
  let providers = FakeProviders()
  let passkeys = FakePasskeys()
  /// nil: the server has no hooks.
  var hooks: FakeHooks?
  var policy: Policy

  init(store: MemoryStore = MemoryStore(), seed: UInt64 = 1, policy edit: (inout Policy) -> Void = { _ in }) {
    self.store = store
    randomness = SeededRandomness(seed: seed)
    policy = Policy()
    policy.enabledProviderIDs = ["google.com", "oidc.corp", "oidc.other"]
    policy.phoneEnabled = true
    policy.relyingPartyIDs = [FakePasskeys.relyingParty, "other.example"]
    edit(&policy)
  }

  var environment: Environment {
    Environment(
      store: store, clock: clock, randomness: randomness, cryptography: cryptography, passwords: passwords,
      tokens: tokens, providers: providers, policy: policy, passkeys: passkeys, hooks: hooks)
  }

  var now: Timestamp { clock.now() }

  /// A server on the same store whose master keys are these, the one that seals first.
  func server(_ masterKeys: String...) -> World {
    var server = self
    server.cryptography = FakeCryptography(masterKeys: masterKeys)
    return server
  }

  /// One call, with a new commit decision each time.
  func call(
    caller: String = "spiffe://test/app", binding: String? = nil, key: String? = nil, request: String = "request",
    mayFetchByEmail: Bool = false, audience: String = "app", ipAddress: String = "192.0.2.1",
    deviceID: String = "device", commitDecision: CommitDecision = CommitDecision()
  ) -> CallFacts {
    CallFacts(
      caller: CallerName(caller), mayFetchByEmail: mayFetchByEmail, callerIdentified: true, audiences: [audience],
      redirectURIs: ["https://app.example/callback", "https://app.example/back?page=1"],
      binding: binding.map { cryptography.sha256(Array($0.utf8)) },
      idempotency: key.map { claim("\(caller) \($0)", request) },
      ipAddress: ipAddress, userAgent: "test", deviceID: deviceID, commitDecision: commitDecision)
  }

  private func claim(_ key: String, _ request: String) -> IdempotencyClaim {
    let names = cryptography.masterKeys.map { masterKey in
      IdempotencyClaim.Names(
        key: cryptography.sha256(Array("key \(masterKey) \(key)".utf8)),
        request: cryptography.sha256(Array("request \(masterKey) \(request)".utf8)))
    }
    return IdempotencyClaim(key: names[0].key, request: names[0].request, others: Array(names.dropFirst()))
  }

  /// Inserts an open session of the account, and returns its tokens.
  func session(
    of accountID: String, by first: FirstFactor = .password, secondFactor: String? = nil, call: CallFacts? = nil
  ) throws -> SessionGrant {
    let kind = secondFactor.flatMap(FactorKind.init(rawValue:))
    let opened = environment.openSession(
      accountID: accountID, by: first, secondFactor: kind.map { enrolled($0, of: accountID) },
      call: call ?? self.call(), now: now)
    store.edit { $0.sessions[opened.record.id] = opened.record }
    let state = store.state(accountID) ?? account(id: accountID)
    let claims = environment.claims(for: opened.record, state, now: now)
    return environment.grant(opened, state, claims, idToken: try tokens.mintIDToken(claims))
  }
}

// MARK: Records

func enrolled(_ kind: FactorKind, of accountID: String) -> FactorRecord {
  FactorRecord(id: "factor-\(kind.rawValue)", accountID: accountID, kind: kind, enrolledAt: beginning)
}

/// The state of the email address of a built account.
enum AddressState: Sendable {
  case none
  case unverified(String)
  case verified(String, by: EmailVerification = .confirmation)
}

let ada = "ada@example.com"
let beginning = Timestamp(millis: 1_700_000_000_000)

/// An account in a possible state. `password: true` sets the password "correct horse".
func account(
  id: String = "account-y", _ address: AddressState = .none, password: Bool = false, emailLink: Bool = false,
  phone: String? = nil, identities: [Assertion] = [], factors: [FactorKind] = [], disabled: Bool = false,
  anonymous: Bool = false, madeByAdministrator: Bool = false, edit: (inout AccountRecord) -> Void = { _ in }
) -> AccountState {
  var record = AccountRecord(id: id, createdAt: beginning)
  switch address {
  case .none: break
  case .unverified(let email): record.emailAddress = EmailAddress(email)
  case .verified(let email, let proof):
    record.emailAddress = EmailAddress(email, verification: proof)
  }
  record.emailAddress?.source = password ? "password" : identities.first?.identity.providerID
  if password {
    record.passwordHash = "hash:correct horse"
    record.passwordSetAt = beginning
  }
  record.emailLink = emailLink
  record.phoneNumber = phone
  record.disabled = disabled
  record.anonymous = anonymous
  record.madeByAdministrator = madeByAdministrator
  edit(&record)
  return AccountState(
    account: record,
    identities: identities.map { IdentityRecord(assertion: $0, accountID: id, linkedAt: beginning) },
    factors: factors.map { enrolled($0, of: id) })
}

/// An assertion of Google, authoritative for the address by default.
func google(_ subject: String = "g-1", email: String? = ada, tier: TrustTier = .authoritative) -> Assertion {
  assertion("google.com", subject, email: email, tier: tier)
}

/// An assertion of a company's own issuer, unverified by default.
func corp(_ subject: String = "c-1", email: String? = ada, tier: TrustTier = .unverified) -> Assertion {
  assertion("oidc.corp", subject, email: email, tier: tier)
}

func assertion(_ providerID: String, _ subject: String, email: String?, tier: TrustTier) -> Assertion {
  Assertion(
    identity: IdentityKey(providerID: providerID, subject: subject), email: email, tier: tier,
    displayName: "Ada at \(providerID)", photoURL: "https://\(providerID)/\(subject).png", username: "ada-\(subject)",
    profileJSON: "{\"sub\":\"\(subject)\"}")
}
