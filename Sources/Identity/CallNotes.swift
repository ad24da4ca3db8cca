internal import Synchronization

/// How a call that presented a credential ended, as a label of metrics.
package enum CallOutcome: String, Sendable, CaseIterable {
  case session
  /// A session that needs a second factor (section 11).
  case restrictedSession = "restricted_session"
  case newAccount = "new_account"
  case accountExists = "account_exists"
  case credentialInUse = "credential_in_use"
  case secondFactor = "second_factor"
  case verificationSent = "verification_sent"
  case flowStarted = "flow_started"
}

/// What the log, the metrics and the traces state about a call in addition to its status. The use case fills it in.
package final class CallNotes: Sendable {
  package struct Content: Hashable, Sendable {
    /// The account that the call concerns.
    package var accountID: String?
    /// The provider or other method of the presented credential; nil if the call presented none. May be text of the
    /// client, so it is no label until it is compared with the configuration.
    package var providerID: String?
    package var outcome: CallOutcome?
  }

  private let noted = Mutex(Content())
  private let concernsMany: Bool

  /// - Parameter concernsMany: the call concerns any number of accounts, of which none is noted.
  package init(concernsMany: Bool = false) { self.concernsMany = concernsMany }

  package var content: Content { noted.withLock(\.self) }

  /// Notes the account, unless another one was noted before.
  package func concerns(_ accountID: String) {
    guard !concernsMany, !accountID.isEmpty else { return }
    noted.withLock { if $0.accountID == nil { $0.accountID = accountID } }
  }

  /// Notes the session that the call opened.
  func opened(for accountID: String, by providerID: String) {
    noted.withLock { noted in
      noted.accountID = accountID
      if noted.providerID ?? CallNotes.unknown == CallNotes.unknown { noted.providerID = providerID }
    }
  }

  package func presents(_ providerID: String) { noted.withLock { $0.providerID = providerID } }

  package func ended(_ outcome: CallOutcome) { noted.withLock { $0.outcome = outcome } }

  package func presents(_ credential: Credential) {
    switch credential {
    case .password: presents(SignInMethods.password)
    case .providerToken(let token): presents(token.providerID)
    case .customToken: presents(FirstFactor.customToken.signInProviderID)
    case .phoneCode: presents(SignInMethods.phone)
    case .emailLink: presents(SignInMethods.emailLink)
    case .passkey: presents(SignInMethods.passkey)
    case .emailCode: presents(SignInMethods.emailCode)
    case .anonymous: presents(FirstFactor.anonymous.signInProviderID)
    // The flow or the pending credential names the provider.
    case .authorizationResponse, .pendingToken: presents(CallNotes.unknown)
    }
  }

  /// The provider of a credential that was not found.
  package static let unknown = "none"

  /// All values of `providerID` that are no configured provider.
  package static let withoutProvider = [
    SignInMethods.password, SignInMethods.emailLink, SignInMethods.emailCode, SignInMethods.phone,
    SignInMethods.passkey,
    FirstFactor.customToken.signInProviderID, FirstFactor.anonymous.signInProviderID, unknown,
  ]
}

extension SignInAnswer {
  package var outcome: CallOutcome {
    switch self {
    case .session(let grant): grant.outcome
    case .accountExists: .accountExists
    case .secondFactorRequired: .secondFactor
    }
  }
}

extension LinkAnswer {
  package var outcome: CallOutcome {
    switch self {
    case .session(let grant, _): grant.outcome
    case .credentialInUse: .credentialInUse
    case .secondFactorRequired: .secondFactor
    }
  }
}

extension ReauthenticateAnswer {
  package var outcome: CallOutcome {
    switch self {
    case .session(let grant): grant.outcome
    case .secondFactorRequired: .secondFactor
    }
  }
}

extension FinishSecondFactorAnswer {
  package var outcome: CallOutcome {
    switch self {
    case .session(let grant, _): grant.outcome
    case .accountExists: .accountExists
    case .credentialInUse: .credentialInUse
    }
  }
}

extension CreateAnswer {
  package var outcome: CallOutcome {
    switch self {
    case .session: .newAccount
    case .verificationSent: .verificationSent
    }
  }
}

extension SessionGrant {
  package var outcome: CallOutcome {
    if isNewAccount { return .newAccount }
    return secondFactorDuty.isOverdue ? .restrictedSession : .session
  }
}
