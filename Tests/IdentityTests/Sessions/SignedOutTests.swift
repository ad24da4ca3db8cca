import Identity
import Store
import Testing

/// The rest of `Interrupted between decision and commit`: each call that guards its own session.
struct `Signed out between look-up and commit` {
  @Test(arguments: GuardedCall.allCases)
  func `check 98: a call whose session is signed out before its commit writes nothing and opens no session`(
    call: GuardedCall
  ) async throws {
    let world = World.sending()
    let prepared = try await call.prepared(in: world)
    await world.signedOut(prepared.session, prepared.body)
  }
}

/// Calls that would succeed if their session were not signed out before the commit.
enum GuardedCall: CaseIterable {
  case startEnrollment
  case finishEnrollment
  case withdraw
  case update
  case sendEmailChange
  case confirmNewEmail
  case confirmEmail
  case mergeOfSurvivor
  case mergeOfOther
  case repeatedMerge
  case linkedAlreadyBehindFactor

  typealias Prepared = (session: SessionGrant, body: @Sendable (Environment) async throws -> Void)

  func prepared(in world: World) async throws -> Prepared {
    switch self {
    case .startEnrollment: return try startingEnrollment(world)
    case .finishEnrollment: return try await finishingEnrollment(world)
    case .withdraw: return try withdrawing(world)
    case .update: return try updating(world)
    case .sendEmailChange: return try sendingEmailChange(world)
    case .confirmNewEmail:
      world.insertPerson([])
      let session = try world.session(of: "account-y")
      return confirming(try await world.emailChange(to: newEmail, session), session, world)
    case .confirmEmail:
      world.store.insert(account(.unverified(ada), password: true))
      let session = try world.session(of: "account-y")
      return confirming(try await world.verification(session), session, world)
    case .mergeOfSurvivor, .mergeOfOther, .repeatedMerge: return try await merging(world)
    case .linkedAlreadyBehindFactor: return try await finishingSecondFactor(world)
    }
  }

  private var newEmail: String { "new@example.com" }
}

// MARK: Factors

extension GuardedCall {
  private func startingEnrollment(_ world: World) throws -> Prepared {
    world.insertPerson([])
    let session = try world.session(of: "account-y")
    let request = StartEnrollmentRequest(idToken: session.idToken, kind: .phone, phoneNumber: adasNumber)
    return (session, { environment in _ = try await StartEnrollment(environment)(request, world.call()) })
  }

  private func finishingEnrollment(_ world: World) async throws -> Prepared {
    world.insertPerson([])
    let session = try world.session(of: "account-y")
    let started = try await world.startEnrollment(.phone, session, phoneNumber: adasNumber)
    let request = FinishEnrollmentRequest(
      idToken: session.idToken, enrollmentID: started.enrollmentID, code: try world.textedCode())
    return (session, { environment in _ = try await FinishEnrollment(environment)(request, world.call()) })
  }

  private func withdrawing(_ world: World) throws -> Prepared {
    world.insertPerson()
    let session = try world.session(of: "account-y", secondFactor: "totp")
    let request = WithdrawRequest(idToken: session.idToken, factorID: "factor-totp")
    return (session, { environment in _ = try await Withdraw(environment)(request, world.call()) })
  }

  /// Another call linked the same identity while the factor was requested.
  private func finishingSecondFactor(_ world: World) async throws -> Prepared {
    world.insertPerson()
    let session = try world.session(of: "account-y")
    let required = try await world.link(corp(), session).required
    let record = IdentityRecord(assertion: corp(), accountID: "account-y", linkedAt: world.now)
    world.store.edit { $0.identities[record.key] = record }
    let request = FinishSecondFactorRequest(
      handle: required.handle, factorID: "factor-totp", code: world.totpCode())
    return (session, { environment in _ = try await FinishSecondFactor(environment)(request, world.call()) })
  }
}

// MARK: Accounts and addresses

extension GuardedCall {
  private func updating(_ world: World) throws -> Prepared {
    world.insertPerson([])
    let session = try world.session(of: "account-y")
    let request = UpdateAccountRequest(idToken: session.idToken, newPassword: "another horse")
    return (session, { environment in _ = try await UpdateAccount(environment)(request, world.call()) })
  }

  private func sendingEmailChange(_ world: World) throws -> Prepared {
    world.insertPerson([])
    let session = try world.session(of: "account-y")
    let order = MailOrder(continueURI: page)
    return (session, { [newEmail] environment in
      _ = try await SendEmailChange(environment)(
        idToken: session.idToken, newEmail: newEmail, order, world.call())
    })
  }

  private func confirming(_ code: String, _ session: SessionGrant, _ world: World) -> Prepared {
    (session, { environment in
      _ = try await ConfirmEmail(environment)(.link(code: code), idToken: session.idToken, world.call())
    })
  }

  private func merging(_ world: World) async throws -> Prepared {
    world.insertPerson([])
    world.store.insert(account(id: "account-z", identities: [corp("c-2", email: nil)]))
    let survivor = try world.session(of: "account-y")
    let other = try world.session(of: "account-z", by: .provider("oidc.corp"))
    if self == .repeatedMerge { _ = try await world.merge(survivor, other) }
    let request = MergeRequest(survivorIDToken: survivor.idToken, otherIDToken: other.idToken)
    return (
      self == .mergeOfOther ? other : survivor,
      { environment in _ = try await MergeAccounts(environment)(request, world.mergeCall()) }
    )
  }
}
