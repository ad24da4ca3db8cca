internal import Identity
internal import API

// Validation of Update and Merge requests.

extension Shape {
  /// Validates an Update request. Ignores fields of `account` that `update_mask` does not list.
  ///
  /// `email_verified` and other fields that a user may not set are not valid paths of the mask (check 109).
  static func update(_ request: UpdateRequest, _ policy: Policy) throws -> Identity.UpdateAccountRequest {
    var order = Identity.UpdateAccountRequest(idToken: try token(request.idToken, "id_token"))
    let account = request.account ?? API.Account()
    for path in request.updateMask?.paths ?? [] {
      switch path {
      case "display_name":
        order.displayName = try shown(account.displayName, "account.display_name", bytesMax: displayNameBytesMax)
      case "photo_url": order.photoURL = try webURL(account.photoURL, "account.photo_url")
      case "email": order.email = try mailableEmail(account.email, "account.email", policy)
      default: throw invalid("update_mask", "List only display_name, photo_url and email in update_mask.")
      }
    }
    if !request.newPassword.isEmpty { order.newPassword = try password(request.newPassword, "new_password") }
    guard order != Identity.UpdateAccountRequest(idToken: order.idToken) else {
      throw invalid("update_mask", "List a field in update_mask, or set new_password.")
    }
    let wayBack = MailOrder(
      continueURI: try text(request.continueURI, "continue_uri", bytesMax: urlBytesMax),
      locale: locale(request.locale))
    if !wayBack.continueURI.isEmpty { order.mail = wayBack }
    return order
  }

  static func merge(_ request: API.MergeRequest) throws -> Identity.MergeRequest {
    guard request.keep.count <= keepMax else { throw invalid("keep", "Send at most \(keepMax) entries.") }
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
