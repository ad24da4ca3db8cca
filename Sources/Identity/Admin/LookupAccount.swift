package import Store

/// One account for an administrator, found by one of its identifiers.
package struct LookupAccount: Reading {
  package enum Subject: Hashable, Sendable {
    case accountID(String)
    /// Normalised.
    case email(String)
    case phoneNumber(String)
    case identity(IdentityKey)
  }

  private let subject: Subject

  package init(_ subject: Subject) { self.subject = subject }

  package var query: Query {
    var query = Query()
    switch subject {
    case .accountID(let id): query.accountID = id
    case .email(let email): query.email = email
    case .phoneNumber(let number): query.phoneNumber = number
    case .identity(let key): query.identity = key
    }
    return query
  }

  package func answer(_ facts: Facts) throws -> AccountState {
    let found = switch subject {
    case .accountID: facts.account
    case .email: facts.emailOwner
    case .phoneNumber: facts.phoneOwner
    case .identity: facts.identityOwner
    }
    guard let found else { throw facts.noAccount() }
    return found
  }
}
