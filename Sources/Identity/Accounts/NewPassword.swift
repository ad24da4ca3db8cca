import Store

/// Checks and hashing of a new password. It is in NFKC, so its length is the length of what is hashed.
///
/// The rules are those of NIST SP 800-63B-4, 3.1.1.2: a minimum length and lists of known passwords, but no rules about
/// kinds of characters.
extension Environment {
  /// Rejects an invalid password before any work, then hashes it.
  func hashNew(_ password: String, field: String, call: CallFacts) async throws -> String {
    try await requireNew(password, field: field, call: call)
    return try await passwords.hash(password, commitDecision: call.commitDecision)
  }

  func requireNew(_ password: String, field: String, call: CallFacts) async throws {
    guard policy.passwordEnabled else {
      throw Failure(.operationNotAllowed, field: field, hint: "Passwords are not enabled.")
    }
    guard password.utf8.count <= policy.passwordBytesMax else {
      throw Failure(.invalidField, field: field, hint: "Use at most \(policy.passwordBytesMax) bytes.")
    }
    guard password.utf8.count >= policy.passwordBytesMin else {
      throw weak("Use at least \(policy.passwordBytesMin) bytes.", rule: "length", field)
    }
    guard !passwords.isCommon(password) else {
      throw weak("This password is too common. Choose another one.", rule: "common", field)
    }
    guard try await !passwords.isBlocked(password, commitDecision: call.commitDecision) else {
      throw weak("This password is in a list of known passwords. Choose another one.", rule: "block_list", field)
    }
  }

  private func weak(_ hint: String, rule: String, _ field: String) -> Failure {
    Failure(.weakPassword, field: field, hint: hint, metadata: ["rule": rule])
  }
}
