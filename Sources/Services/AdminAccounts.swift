internal import API
internal import Callers
internal import Encodings
internal import GRPC
internal import Identity
internal import Protobuf
internal import Store

// The methods of AdminService that change what a user could change, and more.

extension AdminService {
  var accountMethods: [Method] {
    [
      createAccount, updateAccount, linkIdentity, setSecondFactors, createEmailLink, invite, deleteAccounts,
      setAccountsDisabled, forgetAccount, search, exportAccount,
    ]
  }

  private var createAccount: Method {
    .unary(AdminRPC.createAccount) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let order = try Shape.provision(request, shared.environment.policy)
      let provision = ProvisionAccount(shared.environment)
      return .task { CreateAccountResponse(account: API.Account(try await provision(order, call))) }
    }
  }

  private var updateAccount: Method {
    .unary(AdminRPC.updateAccount) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let order = try Shape.edit(request, shared.environment.policy)
      let edit = EditAccount(shared.environment)
      return .task { UpdateAccountResponse(account: API.Account(try await edit(order, call))) }
    }
  }

  private var linkIdentity: Method {
    .unary(AdminRPC.linkIdentity) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let identity = try Shape.identity(request, shared.environment.providers)
      let link = LinkIdentity(shared.environment)
      return .task {
        let (state, alreadyLinked) = try await link(identity, accountID: id, call)
        return LinkIdentityResponse(account: API.Account(state), alreadyLinked: alreadyLinked)
      }
    }
  }

  private var setSecondFactors: Method {
    .unary(AdminRPC.setSecondFactors) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let settings = try request.factors.map(Shape.factor)
      let set = SetSecondFactors(shared.environment)
      return .task {
        SetSecondFactorsResponse(account: API.Account(try await set(accountID: id, settings, call)))
      }
    }
  }

  private var createEmailLink: Method {
    .unary(AdminRPC.createEmailLink) { request, message, context, _ in
      guard context.caller.mayCreateEmailLinks else {
        throw Failure(.callerNotAllowed, hint: "Ask the operator to grant `email_links` to the caller.")
      }
      let call = try shared.facts(context, message)
      let order = try Shape.emailLink(request)
      let redeemer = try redeemer(request.caller, context)
      let create = CreateEmailLink(shared.environment)
      return .task {
        let created = try await create(
          order, for: LinkCaller(name: redeemer.name, redirectURIs: redeemer.redirectURIs), call)
        return CreateEmailLinkResponse(link: created.link, expiresAtMillis: created.expiresAt.millis)
      }
    }
  }

  private var invite: Method {
    .unary(AdminRPC.invite) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let order = try Shape.invitation(request, shared.environment.policy)
      let redeemer = try redeemer(request.caller, context)
      let invite = InviteUser(shared.environment)
      return .task {
        let invited = try await invite(
          order, for: LinkCaller(name: redeemer.name, redirectURIs: redeemer.redirectURIs), call)
        return InviteResponse(
          accountID: invited.accountID, expiresAtMillis: invited.expiresAt.millis, isNewAccount: invited.isNewAccount)
      }
    }
  }

  /// Returns the caller whose page a link opens; by default the caller of the call.
  private func redeemer(_ name: String, _ context: CallContext) throws -> Caller {
    let name = try Shape.text(name, "caller", bytesMax: Shape.callerBytesMax)
    guard let redeemer = name.isEmpty ? context.caller : shared.callers[name] else {
      throw Shape.invalid("caller", "Use the name of a configured caller.")
    }
    return redeemer
  }

  private var forgetAccount: Method {
    .unary(AdminRPC.forgetAccount) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.accountID(request.accountID, "account_id")
      let forget = ForgetAccount(shared.environment)
      return .task {
        ForgetAccountResponse(idTokensExpireAtMillis: try await forget(accountID: id, call).millis)
      }
    }
  }
}

// MARK: batches

extension AdminService {
  /// Time limit of a batch, whose changes wait for the disk one after the other.
  static let batchMillisMax: Int64 = 120_000

  private var deleteAccounts: Method {
    batch(AdminRPC.deleteAccounts) { request, call in
      let rows = try Shape.batch(request.accountIDs)
      let batch = AccountBatch(shared.environment, .erase, call)
      return .task {
        let outcome = rows.outcome(try await batch(rows.valid))
        return DeleteAccountsResponse(deleted: outcome.changed, errors: AccountError.list(outcome))
      }
    }
  }

  private var setAccountsDisabled: Method {
    batch(AdminRPC.setAccountsDisabled) { request, call in
      let rows = try Shape.batch(request.accountIDs)
      let batch = AccountBatch(shared.environment, .setDisabled(request.disabled), call)
      return .task {
        let outcome = rows.outcome(try await batch(rows.valid))
        return SetAccountsDisabledResponse(
          changed: outcome.changed, unchanged: outcome.unchanged, errors: AccountError.list(outcome))
      }
    }
  }

  func batch<Request, Response>(
    _ rpc: RPC<Request, Response>, _ start: @escaping @Sendable (Request, CallFacts) throws -> Work
  ) -> Method {
    Method(
      rpc.path, messageBytesMax: AdminService.batchBytesMax, timeLimitMillis: AdminService.batchMillisMax,
      .unary { [shared] message, context, _ in
        let span = message.bytes.span.extracting(message.start..<message.end)
        // The reactor's arena is too small for batches.
        let request = try Request.decode(span, arena: Arena(budgetBytes: 65_536 + 8 * message.count))
        return try start(request, try shared.facts(context, message))
      })
  }
}

extension AccountError {
  fileprivate static func list(_ outcome: BatchOutcome) -> [AccountError] {
    outcome.refused.map { row, id, failure in
      AccountError(row: row, accountID: id, reason: ErrorReason(failure.reason), message: failure.hint)
    }
  }
}

// MARK: Validation of requests

extension Shape {
  /// A TOTP secret. RFC 4226 requires 16 bytes; a longer key than a block of SHA-1 is hashed first.
  static let totpSecretBytes = 16...64
  static let callerBytesMax = 128

  fileprivate static func batch(_ ids: [String]) throws -> BatchRows<String> {
    guard 1...AccountBatch.rowsMax ~= ids.count else {
      throw invalid("account_ids", "Send 1 to \(AccountBatch.rowsMax) ids.")
    }
    return try BatchRows(ids, name: { $0 }, shape: { try accountID($0, "account_ids") })
  }

  fileprivate static func provision(
    _ request: API.CreateAccountRequest, _ policy: Policy
  ) throws -> ProvisionAccountRequest {
    var row = ImportRow()
    if !request.accountID.isEmpty { row.id = try accountID(request.accountID, "account_id") }
    if !request.email.isEmpty { row.email = try mailableEmail(request.email, "email", policy) }
    guard row.email != nil || !request.emailVerified else {
      throw invalid("email_verified", "Set email, or omit email_verified.")
    }
    row.emailVerified = request.emailVerified
    if !request.phoneNumber.isEmpty { row.phoneNumber = try phoneNumber(request.phoneNumber, "phone_number") }
    row.displayName = try shown(request.displayName, "display_name", bytesMax: displayNameBytesMax)
    row.photoURL = try webURL(request.photoURL, "photo_url")
    row.disabled = request.disabled
    row.customClaimsJSON = request.customClaimsJSON
    return ProvisionAccountRequest(
      row: row, password: request.password.isEmpty ? nil : try password(request.password, "password"))
  }

  fileprivate static func edit(_ request: API.UpdateAccountRequest, _ policy: Policy) throws -> EditAccountRequest {
    var order = EditAccountRequest(accountID: try accountID(request.accountID, "account_id"))
    let account = request.account ?? API.Account()
    for path in request.updateMask?.paths ?? [] {
      switch path {
      case "email":
        order.revision.email = account.email.isEmpty ? "" : try mailableEmail(account.email, "account.email", policy)
      case "email_verified": order.revision.emailVerified = account.emailVerified
      case "phone_number":
        order.revision.phoneNumber =
          account.phoneNumber.isEmpty ? "" : try phoneNumber(account.phoneNumber, "account.phone_number")
      case "display_name":
        order.revision.displayName = try shown(
          account.displayName, "account.display_name", bytesMax: displayNameBytesMax)
      case "photo_url": order.revision.photoURL = try webURL(account.photoURL, "account.photo_url")
      case "disabled": order.revision.disabled = account.disabled
      case "password" where request.password.isEmpty: order.revision.password = .clear
      case "password": order.newPassword = try password(request.password, "password")
      default:
        throw invalid(
          "update_mask",
          "List only email, email_verified, phone_number, display_name, photo_url, disabled and password.")
      }
    }
    guard order != EditAccountRequest(accountID: order.accountID) else {
      throw invalid("update_mask", "List at least one field in update_mask.")
    }
    guard request.password.isEmpty || order.newPassword != nil else {
      throw invalid("update_mask", "List password in update_mask to set it.")
    }
    return order
  }

  fileprivate static func identity(
    _ request: LinkIdentityRequest, _ providers: any Providers
  ) throws -> ImportRow.Identity {
    let providerID = try required(request.providerID, "provider_id", bytesMax: providerIDBytesMax)
    guard !["password", "phone", "emailLink", "anonymous", "custom"].contains(providerID) else {
      throw invalid("provider_id", "Use UpdateAccount for the service's own sign-in methods.")
    }
    guard providerID != SignInMethods.passkey else {
      throw invalid("provider_id", "Import the account with its passkeys, or let the user register one.")
    }
    let subject = try required(request.subject, "subject", bytesMax: subjectBytesMax)
    return ImportRow.Identity(
      key: IdentityKey(providerID: providerID, subject: try providers.subject(ofImported: subject, at: providerID)),
      email: request.email.isEmpty ? nil : try email(request.email, "email"),
      displayName: try shown(request.displayName, "display_name", bytesMax: importedNameBytesMax),
      photoURL: try webURL(request.photoURL, "photo_url"))
  }

  fileprivate static func factor(_ setting: SecondFactorSetting) throws -> FactorSetting {
    let proof: FactorSetting.Proof? =
      switch setting.secret {
      case .phoneNumber(let number): .phoneNumber(try phoneNumber(number, "factors.phone_number"))
      case .totpSecret(let secret): .totp(secret: try totpSecret(secret))
      case nil: nil
      }
    return FactorSetting(
      id: try text(setting.factorID, "factors.factor_id", bytesMax: factorIDBytesMax),
      displayName: try shown(setting.displayName, "factors.display_name", bytesMax: displayNameBytesMax), proof: proof)
  }

  private static func totpSecret(_ secret: [UInt8]) throws -> [UInt8] {
    guard totpSecretBytes.contains(secret.count) else {
      throw invalid(
        "factors.totp_secret", "Send \(totpSecretBytes.lowerBound) to \(totpSecretBytes.upperBound) bytes.")
    }
    return secret
  }

  fileprivate static func invitation(
    _ request: API.InviteRequest, _ policy: Policy
  ) throws -> Identity.InviteRequest {
    switch request.mode {
    case .unspecified, .resetPassword, .signIn: break
    default: throw invalid("mode", "Send SIGN_IN or RESET_PASSWORD.")
    }
    return Identity.InviteRequest(
      email: try mailableEmail(request.email, "email", policy), setsPassword: request.mode != .signIn,
      displayName: try shown(request.displayName, "display_name", bytesMax: displayNameBytesMax),
      mail: try mail(request.continueURI, request.locale))
  }

  fileprivate static func emailLink(_ request: API.CreateEmailLinkRequest) throws -> Identity.CreateEmailLinkRequest {
    let mode: Identity.CreateEmailLinkRequest.Mode =
      switch request.mode {
      case .signIn: .signIn
      case .verifyEmail: .verifyEmail
      case .resetPassword: .resetPassword
      case .changeEmail: .changeEmail
      case .unspecified, .signUp, .revertEmail, nil:
        throw invalid("mode", "Send SIGN_IN, VERIFY_EMAIL, RESET_PASSWORD or CHANGE_EMAIL.")
      }
    guard mode == .changeEmail || request.accountID.isEmpty else {
      throw invalid("account_id", "Set account_id only for CHANGE_EMAIL.")
    }
    return Identity.CreateEmailLinkRequest(
      mode: mode, email: try email(request.email, "email"),
      accountID: mode == .changeEmail ? try accountID(request.accountID, "account_id") : "",
      continueURI: try required(request.continueURI, "continue_uri", bytesMax: urlBytesMax))
  }
}
