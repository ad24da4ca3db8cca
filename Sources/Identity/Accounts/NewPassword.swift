import Store

/// A password on its way into the store. It came in NFKC, so its length is that of what is hashed.
extension Environment {
  /// Refuses what may not be set before any work is spent on it, then hashes.
  func hashNew(_ password: String, field: String, call: CallFacts) async throws -> String {
    try requireNew(password, field: field)
    return try await passwords.hash(password, fate: call.fate)
  }

  func requireNew(_ password: String, field: String) throws(Failure) {
    guard policy.passwordEnabled else {
      throw Failure(.operationNotAllowed, field: field, hint: "Passwords are not enabled.")
    }
    guard password.utf8.count <= policy.passwordBytesMax else {
      throw Failure(.invalidField, field: field, hint: "At most \(policy.passwordBytesMax) bytes.")
    }
    guard password.utf8.count >= policy.passwordBytesMin else {
      throw Failure(.weakPassword, field: field, hint: "At least \(policy.passwordBytesMin) bytes.")
    }
    guard !passwords.isCommon(password) else {
      throw Failure(.weakPassword, field: field, hint: "This password is on the list of common ones.")
    }
  }
}
