/// The values that the checks of both schemas accept, by the step that accepts them first.
///
/// A released schema is never edited, so these lists are not derived from the enums. A new case of an enum needs a step
/// that widens its check.
package enum SchemaValues {
  package static let firstFactorKinds = ["totp", "phone", "recovery_code"]
  /// With passkeys.
  package static let factorKinds = firstFactorKinds + ["passkey"]
  package static let firstPendingPurposes = [
    "link", "second_factor", "credential_in_use", "flow", "enrollment", "phone_code", "email_link", "sign_up",
    "verify_email", "reset_password", "change_email", "revert_email",
  ]
  /// With passkeys and codes by email.
  package static let pendingPurposes =
    firstPendingPurposes + ["passkey_registration", "passkey_sign_in", "email_code"]

  /// An SQL condition: the column has one of the values, or is NULL.
  package static func check(_ column: String, _ values: [String]) -> String {
    values.map { "\(column) = '\($0)'" }.joined(separator: " OR ")
  }
}
