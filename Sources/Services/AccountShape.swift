internal import Identity
internal import API

// The shapes of Update and Merge.

extension Shape {
  /// The mask alone says what is changed: `email_verified` and whatever else a person may not set has no path in it
  /// (check 109), and what stands in the account without being named is passed over.
  static func update(_ request: UpdateRequest, _ policy: Policy) throws -> UpdateAccountRequest {
    var order = UpdateAccountRequest(idToken: try token(request.idToken, "id_token"))
    let account = request.account ?? API.Account()
    for path in request.updateMask?.paths ?? [] {
      switch path {
      case "display_name":
        order.displayName = try shown(account.displayName, "account.display_name", bytesMax: displayNameBytesMax)
      case "photo_url": order.photoURL = try webURL(account.photoURL, "account.photo_url")
      case "email": order.email = try mailableEmail(account.email, "account.email", policy)
      default: throw invalid("update_mask", "Only display_name, photo_url and email can be changed here.")
      }
    }
    if !request.newPassword.isEmpty { order.newPassword = try password(request.newPassword, "new_password") }
    guard order != UpdateAccountRequest(idToken: order.idToken) else {
      throw invalid("update_mask", "It names nothing, and there is no new password.")
    }
    let wayBack = MailOrder(
      continueURI: try text(request.continueURI, "continue_uri", bytesMax: urlBytesMax),
      locale: locale(request.locale))
    if !wayBack.continueURI.isEmpty { order.mail = wayBack }
    return order
  }

  static func merge(_ request: API.MergeRequest) throws -> Identity.MergeRequest {
    guard request.keep.count <= keepMax else { throw invalid("keep", "At most \(keepMax).") }
    return Identity.MergeRequest(
      survivorIDToken: try token(request.survivorIDToken, "survivor_id_token"),
      otherIDToken: try token(request.otherIDToken, "other_id_token"), dryRun: request.dryRun,
      keep: try request.keep.map { keep in
        Identity.MergeKeep(
          field: try required(keep.field, "keep.field", bytesMax: providerIDBytesMax),
          accountID: try required(keep.fromAccountID, "keep.from_account_id", bytesMax: accountIDBytesMax))
      })
  }
}

extension MergeResponse {
  init(_ answer: MergeAnswer) {
    self.init(
      session: answer.session.map(API.Session.init),
      conflicts: answer.conflicts.map {
        API.MergeConflict(field: $0.field, survivorValue: $0.survivorValue, otherValue: $0.otherValue)
      },
      movedProviderIDs: answer.movedProviderIDs, closedAccountID: answer.closedAccountID)
  }
}
