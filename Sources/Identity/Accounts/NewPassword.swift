import Store

/// Checks and hashing of a new password. It is in NFKC, so its length is the length of what is hashed.
extension Environment {
  /// Rejects an invalid password before any work, then hashes it.
  func hashNew(_ password: String, field: String, call: CallFacts) async throws -> String {
    try requireNew(password, field: field)
    return try await passwords.hash(password, commitDecision: call.commitDecision)
  }

  func requireNew(_ password: String, field: String) throws(Failure) {
    guard policy.passwordEnabled else {
      throw Failure(.operationNotAllowed, field: field, hint: "Passwords are not enabled.")
    }
    guard password.utf8.count <= policy.passwordBytesMax else {
      throw Failure(.invalidField, field: field, hint: "Use at most \(policy.passwordBytesMax) bytes.")
    }
    guard password.utf8.count >= policy.passwordBytesMin else {
      throw Failure(.weakPassword, field: field, hint: "Use at least \(policy.passwordBytesMin) bytes.")
    }
    guard !passwords.isCommon(password) else {
      throw Failure(.weakPassword, field: field, hint: "This password is too common. Choose another one.")
    }
  }
}
