import Client
import Encodings
import Reactor
import Tokens
import API

// Reports of outcomes. Conflicts and second factors are not errors, so these reports show the next step.

extension CommandContext {
  /// Stores the session and reports its account.
  func opened(_ session: Session?, _ what: String, completed: Bool = false) throws -> Report {
    let signedIn = try remember(session, completed: completed)
    guard let session, let account = session.account else { throw Ending.unknownAnswer }
    let name = signedIn.email.isEmpty ? "no email address" : printable(signedIn.email)
    var lines = [
      "\(what): \(name), account \(printable(signedIn.accountID))\(session.isNewAccount ? ", new" : "").",
      "  Sign-in methods: \(ways(account)).",
    ]
    if !session.revokedProviderIDs.isEmpty {
      let revoked = session.revokedProviderIDs.map(printable).joined(separator: ", ")
      lines.append("  Removed unverified sign-in methods: \(revoked).")
    }
    lines += secondFactorDuty(session)
    lines.append("  Session stored in \(sessionPath) (profile \(common.profileName)).")
    return Report(lines, [
      JSONMember("outcome", .string("session")), JSONMember("session_id", .string(session.sessionID)),
      JSONMember("is_new_account", .bool(session.isNewAccount)),
      JSONMember("revoked_provider_ids", .strings(session.revokedProviderIDs)),
      JSONMember("id_token_expires_at", .moment(session.idTokenExpiresAtMillis)),
      JSONMember("refresh_token_expires_at", .moment(session.refreshTokenExpiresAtMillis)),
      JSONMember("is_restricted", .bool(session.isRestricted)),
      JSONMember("second_factor_due_at", .moment(session.secondFactorDueAtMillis)),
      JSONMember("account", account.json),
    ])
  }

  /// Returns a line if the user must enroll a second factor.
  func secondFactorDuty(_ session: Session) -> [String] {
    if session.isRestricted {
      return ["  Enroll a second factor before anything else: \(proposal("enroll", "totp"))."]
    }
    return session.secondFactorDueAtMillis.map { ["  Enroll a second factor by \(rfc3339($0))."] } ?? []
  }

  func ways(_ account: Account) -> String {
    let providers = account.providers.map { printable($0.providerID) }
    let none = account.anonymous ? "none (anonymous)" : "none"
    return providers.isEmpty ? none : providers.joined(separator: ", ")
  }

  /// Reports that the credential's email address belongs to an existing account, and stores the pending token.
  func accountExists(_ exists: AccountExists) throws -> Ending {
    var lines = ["\(printable(exists.email)) already belongs to an account. Nothing was changed."]
    let members = [
      JSONMember("outcome", .string("account_exists")), JSONMember("email", .string(exists.email)),
      JSONMember("provider_ids", .strings(exists.providerIDs)),
      JSONMember("sign_in_methods", .strings(exists.signInMethods)),
      JSONMember("pending_token", .string(exists.pendingToken)),
      JSONMember("pending_expires_at", .moment(exists.pendingExpiresAtMillis)),
      JSONMember("reason", .word(exists.reason)), JSONMember("can_claim_address", .bool(exists.canClaimAddress)),
    ]
    try remember(\.pending, Profile.Pending(token: exists.pendingToken, expiresAtMillis: exists.pendingExpiresAtMillis))
    if exists.reason == .subjectChanged {
      lines.append("The account is linked to another person of this provider. Unlink that one first.")
    }
    let commands = exists.signInMethods.flatMap { completion(by: $0, email: exists.email) }
    if exists.reason == .askAdministrator {
      lines.append("Its owner has no way to sign in: ask the administrator.")
    } else if commands.isEmpty {
      lines += ["Your credential is pending. To link it, sign in as usual with --pending:", ""]
      lines.append("  " + proposal("sign-in", "--email", exists.email, "--pending"))
    } else {
      lines += ["Your credential is pending. To link it, sign in as the account's owner:", ""]
      lines += commands.map { "  " + $0 }
    }
    lines += ["", "Pending until \(exists.pendingExpiresAtMillis.map(rfc3339) ?? "it expires")."]
    if exists.canClaimAddress {
      lines.append("That account has never verified the address. To take it, sign in again with --claim-address.")
    }
    return Ending(code: .unfinished, report: Report(lines, members))
  }

  private func completion(by method: String, email: String) -> [String] {
    switch method {
    case "password": [proposal("sign-in", "--email", email, "--pending")]
    case "emailLink":
      [
        proposal("send-email-link", "--email", email, "--continue-uri", "URI"),
        proposal("sign-in", "--email-link", email, "--pending"),
      ]
    case "emailCode":
      [proposal("send-email-code", email), proposal("sign-in", "--email-code", "--pending")]
    case "phone": [proposal("send-phone-code", "NUMBER"), proposal("sign-in", "--phone-code", "--pending")]
    // A browser signs in; this command has no authenticator.
    case "passkey": []
    default:
      [proposal("start", method, "--redirect-uri", "URI"), proposal("sign-in", "--flow", "--pending")]
    }
  }

  func credentialInUse(_ inUse: CredentialInUse) throws -> Ending {
    try remember(\.pending, Profile.Pending(token: inUse.pendingToken, expiresAtMillis: inUse.pendingExpiresAtMillis))
    let lines = [
      "The credential belongs to another account. Neither account was changed.",
      "To sign in to that account with the credential:", "", "  " + proposal("sign-in", "--pending"), "",
      "Pending until \(inUse.pendingExpiresAtMillis.map(rfc3339) ?? "it expires").",
    ]
    return Ending(code: .unfinished, report: Report(lines, [
      JSONMember("outcome", .string("credential_in_use")), JSONMember("email", .string(inUse.email)),
      JSONMember("pending_token", .string(inUse.pendingToken)),
      JSONMember("pending_expires_at", .moment(inUse.pendingExpiresAtMillis)),
    ]))
  }
}

extension Account {
  var json: JSONValue {
    .object([
      JSONMember("account_id", .string(accountID)), JSONMember("email", .string(email)),
      JSONMember("email_verified", .bool(emailVerified)), JSONMember("display_name", .string(displayName)),
      JSONMember("photo_url", .string(photoURL)), JSONMember("anonymous", .bool(anonymous)),
      JSONMember("created_at", .moment(createdAtMillis)), JSONMember("last_sign_in_at", .moment(lastSignInAtMillis)),
      JSONMember("providers", .array(providers.map { provider in
        .object([
          JSONMember("provider_id", .string(provider.providerID)), JSONMember("subject", .string(provider.subject)),
          JSONMember("email", .string(provider.email)), JSONMember("display_name", .string(provider.displayName)),
          JSONMember("photo_url", .string(provider.photoURL)),
          JSONMember("linked_at", .moment(provider.linkedAtMillis)),
        ] + (provider.passkeyRecord.isEmpty ? [] : [JSONMember("passkey_record", .string(provider.passkeyRecord))]))
      })),
      JSONMember("second_factors", .array(secondFactors.map(\.json))),
    ])
  }
}
