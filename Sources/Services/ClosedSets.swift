internal import API
internal import Identity
internal import Import
internal import Protobuf
internal import Store

// The closed sets of the domain as enums of proto. Each switch is exhaustive, so every new case of the domain needs a
// value in proto.

extension ErrorReason {
  /// Finds the value by its name, because the name is what `ErrorInfo.reason` contains. A test checks that every reason
  /// has a value.
  init(_ reason: Failure.Reason) { self = ErrorReason(name: reason.rawValue) ?? .unspecified }
}

extension AuditEvent {
  var type: EventType {
    switch self {
    case .accountCreated: .accountCreated
    case .linked: .linked
    case .unlinked: .unlinked
    case .reclaimed: .reclaimed
    case .addressDetached: .addressDetached
    case .addressOwnedElsewhere: .addressOwnedElsewhere
    case .deleted: .deleted
    case .signedIn: .signedIn
    case .signedOut: .signedOut
    case .reauthenticated: .reauthenticated
    case .refreshReplayed: .refreshReplayed
    case .sessionsRevoked: .sessionsRevoked
    case .factorEnrolled: .factorEnrolled
    case .factorWithdrawn: .factorWithdrawn
    case .profileChanged: .profileChanged
    case .emailChanged: .emailChanged
    case .passwordChanged: .passwordChanged
    case .merged: .merged
    case .idleRemoved: .idleRemoved
    case .disabled: .disabled
    case .enabled: .enabled
    case .customClaimsChanged: .customClaimsChanged
    case .customTokenCreated: .customTokenCreated
    case .imported: .accountImported
    case .exported: .accountsExported
    case .backedUp: .backupMade
    case .emailVerified: .emailVerified
    case .emailReverted: .emailReverted
    case .passwordReset: .passwordReset
    case .emailUnverified: .emailUnverified
    case .emailLinkCreated: .emailLinkCreated
    case .forgotten: .accountForgotten
    case .accountExported: .accountExported
    case .signingKeyRotated: .signingKeyRotated
    case .signingKeyRevoked: .signingKeyRevoked
    case .unlocked: .unlocked
    case .messageResent: .messageResent
    case .hookDenied: .hookDenied
    case .hookChanged: .hookChanged
    case .passwordCompromised: .passwordCompromised
    case .invited: .invited
    case .sessionCookieCreated: .sessionCookieCreated
    case .passkeyRenamed: .passkeyRenamed
    case .passkeyCloneSuspected: .passkeyCloneSuspected
    case .providerTokenRevoked: .providerTokenRevoked
    case .identityTransferred: .identityTransferred
    case .transferSubjectSet: .transferSubjectSet
    }
  }
}

extension SigningKeyState {
  init(_ state: SigningKeyStatus.State) {
    switch state {
    case .waiting: self = .waiting
    case .signing: self = .signing
    case .retired: self = .retired
    case .unusable: self = .unusable
    }
  }
}

extension API.FactorKind {
  init(_ kind: StoredFactorKind) {
    switch kind {
    case .totp: self = .totp
    case .phone: self = .phone
    case .recoveryCode: self = .recoveryCode
    case .passkey: self = .passkey
    }
  }
}

extension MasterKeyState {
  init(_ state: MasterKeyStatus.State) {
    switch state {
    case .seals: self = .seals
    case .sealsElsewhere: self = .sealsElsewhere
    case .opens: self = .opens
    case .agesOut: self = .agesOut
    case .removable: self = .removable
    case .unused: self = .unused
    case .missing: self = .missing
    case .removed: self = .removed
    }
  }
}

extension ConflictReason {
  init(_ reason: Identity.AccountExists.Reason) {
    switch reason {
    case .none: self = .unspecified
    case .subjectChanged: self = .subjectChanged
    case .askAdministrator: self = .askAdministrator
    }
  }
}

extension PendingCredentialPurpose {
  init(_ purpose: PendingPurpose) {
    switch purpose {
    case .link: self = .link
    case .credentialInUse: self = .credentialInUse
    case .secondFactor: self = .secondFactor
    // Their tokens are no pending credentials, and FetchProviders rejects them.
    case .flow, .enrollment, .phoneCode, .emailLink, .signUp, .verifyEmail, .resetPassword, .changeEmail, .revertEmail,
      .passkeyRegistration, .passkeySignIn, .emailCode:
      self = .unspecified
    }
  }
}

extension API.CodeMode {
  init(_ mode: Identity.CodeMode) {
    switch mode {
    case .signIn: self = .signIn
    case .signUp: self = .signUp
    case .verifyEmail: self = .verifyEmail
    case .resetPassword: self = .resetPassword
    case .changeEmail: self = .changeEmail
    case .revertEmail: self = .revertEmail
    }
  }
}

extension ResponseMode {
  init(_ mode: StartedFlow.ResponseMode) {
    switch mode {
    case .query: self = .query
    case .formPost: self = .formPost
    }
  }
}

// MARK: Values in requests

extension Shape {
  static func tokenKind(_ kind: ProviderTokenKind?, _ field: String) throws -> Identity.TokenToRevoke.Kind {
    switch kind {
    case .accessToken: .accessToken
    case .refreshToken: .refreshToken
    case .authorizationCode: .authorizationCode
    case .unspecified, nil: throw invalid(field, "Set kind to a value of ProviderTokenKind.")
    }
  }

  static func factorKind(_ kind: API.FactorKind?) throws -> StoredFactorKind {
    switch kind {
    case .totp: .totp
    case .phone: .phone
    case .recoveryCode: .recoveryCode
    case .passkey: .passkey
    case .unspecified, nil: throw invalid("kind", "Set kind to a value of FactorKind.")
    }
  }

  /// Validates event types. Returns their names, as audit rows contain them.
  static func eventTypes(_ types: [EventType?]) throws -> Set<String> {
    Set(
      try types.map { type in
        guard let type, type != .unspecified else { throw invalid("types", "Send values of EventType only.") }
        return type.name
      })
  }

  /// Returns the algorithm of imported hashes; nil if no row has a hash.
  static func hashAlgorithm(_ algorithm: HashAlgorithm?) throws -> ForeignHashAlgorithm? {
    switch algorithm {
    case .unspecified: nil
    case .scrypt: .scrypt
    case .standardScrypt: .standardScrypt
    case .bcrypt: .bcrypt
    case .argon2: .argon2
    case .pbkdfSha1: .pbkdfSha1
    case .pbkdf2Sha256: .pbkdf2Sha256
    case .hmacSha512: .hmacSha512
    case .hmacSha256: .hmacSha256
    case .hmacSha1: .hmacSha1
    case .hmacMd5: .hmacMd5
    case .sha512: .sha512
    case .sha256: .sha256
    case .sha1: .sha1
    case .md5: .md5
    case .pbkdf2Sha512: .pbkdf2Sha512
    case .phpass: .phpass
    case .django: .django
    case .werkzeug: .werkzeug
    case nil: throw invalid("options.hash.algorithm", "Set algorithm to a value of HashAlgorithm.")
    }
  }

  static func saltFirst(_ order: HashInputOrder?) throws -> Bool {
    switch order {
    case .unspecified, .passwordFirst: false
    case .saltFirst: true
    case nil: throw invalid("options.hash.input_order", "Set input_order to a value of HashInputOrder.")
    }
  }
}
