internal import Identity
internal import Store
internal import Wire

/// latchkey.v1.AdminService: for callers with the right to it, and never for unidentified ones.
package struct AdminService: Sendable {
  package static let name = "latchkey.v1.AdminService"
  private let desk: Desk

  package init(_ desk: Desk) { self.desk = desk }

  package var methods: [Method] { [lookup, createCustomToken] }

  private var lookup: Method {
    .unary("/\(AdminService.name)/Lookup", LookupRequest.self) { request, _, _, arena in
      try desk.read(LookupAccount(try AdminService.subject(request.subject)), arena) { state in
        LookupResponse(account: Wire.Account(state))
      }
    }
  }

  private var createCustomToken: Method {
    .unary("/\(AdminService.name)/CreateCustomToken", Wire.CreateCustomTokenRequest.self) { request, _, _, arena in
      let grant = try CreateCustomToken(desk.environment)(
        Identity.CreateCustomTokenRequest(
          accountID: request.accountID, claimsJSON: request.claimsJSON, lifetimeMillis: request.lifetimeMillis))
      return .answer(
        CreateCustomTokenResponse(customToken: grant.customToken, expiresAtMillis: grant.expiresAt.millis)
          .encode(arena: arena))
    }
  }

  private static func subject(_ subject: LookupRequest.Subject?) throws -> LookupAccount.Subject {
    switch subject {
    case .accountID(let id): .accountID(try Shape.required(id, "account_id", bytesMax: 128))
    case .email(let address): .email(try Shape.email(address, "email"))
    case .phoneNumber(let number): .phoneNumber(try Shape.phoneNumber(number, "phone_number"))
    case .identity(let identity):
      .identity(
        IdentityKey(
          providerID: try Shape.required(
            identity.providerID, "identity.provider_id", bytesMax: Shape.providerIDBytesMax),
          subject: try Shape.required(identity.subject, "identity.subject", bytesMax: Shape.subjectBytesMax)))
    case nil: throw Shape.invalid("subject", "It must be one of its kinds.")
    }
  }
}
