package import Store

/// An occasion on which the operator's own rules decide (section 15).
package enum HookEvent: String, Sendable, CaseIterable {
  case beforeCreate = "before_create"
  case beforeSignIn = "before_sign_in"
  case beforeSend = "before_send"
}

/// The operator's own rules, which a service of the operator implements.
package protocol Hooks: Sendable {
  /// Whether a hook is asked about this event of this caller.
  func areAsked(about event: HookEvent, by caller: CallerName) -> Bool
  /// Asks the hook, until the deadline of the call at the latest.
  /// - Parameter check: returns what is wrong with an answer. Such an answer is a failure of the hook.
  func ask(
    _ question: HookQuestion, _ call: CallFacts, check: @escaping @Sendable (HookAnswer) -> String?
  ) async -> HookReply
}

/// The facts that a hook is asked about. Equal facts get the same answer, so the question contains no time and no id
/// that another decision about the same records would change.
package enum HookQuestion: Hashable, Sendable {
  case create(HookedLogin)
  case signIn(HookedLogin, isNewAccount: Bool)
  case send(HookedMessage)

  package var event: HookEvent {
    switch self {
    case .create: .beforeCreate
    case .signIn: .beforeSignIn
    case .send: .beforeSend
    }
  }
}

/// An account as a hook sees it, without secrets.
package struct HookedAccount: Hashable, Sendable {
  package struct LinkedIdentity: Hashable, Sendable {
    package var key: IdentityKey
    package var email: String?
  }

  package var id: String
  package var email: String?
  package var emailVerified: Bool
  package var phoneNumber: String?
  package var displayName: String
  package var photoURL: String
  package var anonymous: Bool
  package var customClaimsJSON: String
  package var identities: [LinkedIdentity]
  /// nil: the account is new.
  package var createdAt: Timestamp?

  init(_ state: AccountState, isNew: Bool) {
    let account = state.account
    id = account.id
    email = account.email
    emailVerified = account.emailVerified
    phoneNumber = account.phoneNumber
    displayName = account.displayName
    photoURL = account.photoURL
    anonymous = account.anonymous
    customClaimsJSON = account.customClaimsJSON
    identities = state.identities.map { LinkedIdentity(key: $0.key, email: $0.email) }
    createdAt = isNew ? nil : account.createdAt
  }
}

/// A login after all factors, with the account as it would be.
package struct HookedLogin: Hashable, Sendable {
  package var account: HookedAccount
  package var providerID: String
  package var methods: [String]
  package var secondFactor: String?
  /// The user's profile at the provider; nil for other credentials.
  package var userInfo: UserInfo?
  /// Claims of the session so far: a JSON object, or empty.
  package var sessionClaimsJSON: String
}

/// A message that a call is about to send. Contains nothing of an account, because the answer must not depend on it.
package struct HookedMessage: Hashable, Sendable {
  package var kind: OutgoingMessage.Kind
  package var recipient: OutgoingMessage.Recipient
  package var locale: String
}

/// A valid answer of a hook.
package enum HookAnswer: Hashable, Sendable {
  case allow(HookChanges)
  case deny(HookDenial)
}

/// What a hook changes. nil: no change. An empty text clears the field.
package struct HookChanges: Hashable, Sendable {
  package var displayName: String?
  package var photoURL: String?
  package var disables = false
  package var emailVerified: Bool?
  package var customClaimsJSON: String?
  /// Claims of this session alone: a JSON object, or empty.
  package var sessionClaimsJSON = ""

  package init() {}
}

package struct HookDenial: Hashable, Sendable {
  /// For programs; may be empty.
  package var code: String
  /// For developers or users; may be empty.
  package var reason: String

  package init(code: String = "", reason: String = "") {
    self.code = code
    self.reason = reason
  }
}

/// What came of a question.
package enum HookReply: Hashable, Sendable {
  case answered(HookAnswer, by: String)
  /// The hook did not answer in time, or not validly.
  /// - Parameter isAllowed: `on_failure` of the hook.
  case failed(hook: String, isAllowed: Bool)
}

/// Limits of the texts that a user, an administrator or a hook sets.
package enum ProfileLimits {
  package static let displayNameBytesMax = 256
  package static let urlBytesMax = 2_048
}
