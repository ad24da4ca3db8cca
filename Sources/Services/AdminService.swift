package import Identity
internal import Store
internal import API

/// latchkey.v1.AdminService, for identified callers with the right to it.
package struct AdminService: Sendable {
  let shared: HandlerContext
  let signingKeys: any SigningKeyAdministration

  package init(_ shared: HandlerContext, signingKeys: any SigningKeyAdministration) {
    self.shared = shared
    self.signingKeys = signingKeys
  }

  package var methods: [Method] {
    [
      lookup, list, setDisabled, setCustomClaims, revokeSessions, deleteAccount, removeSecondFactors, unlinkProvider,
      importAccounts, exportAccounts, createCustomToken, backup, getMasterKeyStatus,
      listSigningKeys, rotateSigningKeys, revokeSigningKey,
    ] + accountMethods + supportMethods + transferMethods
  }

  private var lookup: Method {
    .unary(AdminRPC.lookup, isLookUp: true) { request, _, _, arena in
      try shared.read(LookupAccount(try subject(request.subject)), arena) { state in
        LookupResponse(account: API.Account(state))
      }
    }
  }

  private var list: Method {
    .unary(AdminRPC.list, isLookUp: true) { request, _, _, arena in
      let size = Int(request.pageSize)
      guard 0...ListAccounts.accountsMax ~= size else {
        throw Shape.invalid(
          "page_size", "Send 1 to \(ListAccounts.accountsMax), or 0 for \(ListAccounts.usualAccounts).")
      }
      let reading = try ListAccounts(
        pageToken: try Shape.text(request.pageToken, "page_token", bytesMax: Shape.pageTokenBytesMax),
        accountsMax: size == 0 ? ListAccounts.usualAccounts : size)
      return try shared.read(reading, arena) { page in
        ListResponse(accounts: page.accounts.map(API.Account.init), nextPageToken: page.nextToken ?? "")
      }
    }
  }

  private var setDisabled: Method {
    .unary(AdminRPC.setDisabled) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let setDisabled = SetDisabled(shared.environment)
      return .task {
        let state = try await setDisabled(accountID: id, disabled: request.disabled, call)
        return SetDisabledResponse(account: API.Account(state))
      }
    }
  }

  private var setCustomClaims: Method {
    .unary(AdminRPC.setCustomClaims) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let setCustomClaims = SetCustomClaims(shared.environment)
      return .task {
        let state = try await setCustomClaims(accountID: id, claimsJSON: request.claimsJSON, call)
        return SetCustomClaimsResponse(account: API.Account(state))
      }
    }
  }

  private var revokeSessions: Method {
    .unary(AdminRPC.revokeSessions) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let revokeSessions = RevokeSessions(shared.environment)
      return .task {
        RevokeSessionsResponse(closed: Int32(clamping: try await revokeSessions(accountID: id, call)))
      }
    }
  }

  private var deleteAccount: Method {
    .unary(AdminRPC.deleteAccount) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let erase = EraseAccount(shared.environment)
      return .task {
        try await erase(accountID: id, call)
        return DeleteAccountResponse()
      }
    }
  }

  private var removeSecondFactors: Method {
    .unary(
      AdminRPC.removeSecondFactors
    ) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let removeSecondFactors = RemoveSecondFactors(shared.environment)
      return .task {
        let (state, removed) = try await removeSecondFactors(accountID: id, call)
        return RemoveSecondFactorsResponse(account: API.Account(state), removed: Int32(clamping: removed))
      }
    }
  }

  private var unlinkProvider: Method {
    .unary(AdminRPC.unlinkProvider) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let providerID = try Shape.required(request.providerID, "provider_id", bytesMax: Shape.providerIDBytesMax)
      let subject = try Shape.text(request.subject, "subject", bytesMax: Shape.subjectBytesMax)
      let stored = storedSubject(subject, at: providerID)
      let unlinkProvider = UnlinkProvider(shared.environment)
      return .task {
        let state = try await unlinkProvider(accountID: id, providerID: providerID, subject: stored, call)
        return UnlinkProviderResponse(account: API.Account(state))
      }
    }
  }

  private var createCustomToken: Method {
    .unary(AdminRPC.createCustomToken) {
      request, message, context, _ in
      let call = try shared.facts(context, message)
      let order = Identity.CreateCustomTokenRequest(
        accountID: request.accountID, claimsJSON: request.claimsJSON, lifetimeMillis: request.lifetimeMillis)
      let create = CreateCustomToken(shared.environment)
      return .task {
        let grant = try await create(order, call)
        return CreateCustomTokenResponse(customToken: grant.customToken, expiresAtMillis: grant.expiresAt.millis)
      }
    }
  }

  private func subject(_ subject: LookupRequest.Subject?) throws -> LookupAccount.Subject {
    switch subject {
    case .accountID(let id): .accountID(try Shape.accountID(id, "account_id"))
    case .email(let address): .email(try Shape.email(address, "email"))
    case .phoneNumber(let number): .phoneNumber(try Shape.phoneNumber(number, "phone_number"))
    case .identity(let identity): try self.identity(identity)
    case nil: throw Shape.invalid("subject", "Set one of the fields of subject.")
    }
  }

  private func identity(_ identity: ProviderIdentity) throws -> LookupAccount.Subject {
    let providerID = try Shape.required(
      identity.providerID, "identity.provider_id", bytesMax: Shape.providerIDBytesMax)
    // Accounts state their number as the subject of this provider.
    if providerID == SignInMethods.phone {
      return .phoneNumber(try Shape.phoneNumber(identity.subject, "identity.subject"))
    }
    let subject = try Shape.required(identity.subject, "identity.subject", bytesMax: Shape.subjectBytesMax)
    return .identity(IdentityKey(providerID: providerID, subject: storedSubject(subject, at: providerID)))
  }

  /// The subject as LinkIdentity stores it. A text that is no subject of the provider stays, and is not found.
  private func storedSubject(_ subject: String, at providerID: String) -> String {
    (try? shared.environment.providers.subject(ofImported: subject, at: providerID)) ?? subject
  }
}
