import Store
import Text

/// Domains of email addresses, from a file of the operator.
package protocol DomainList: Sendable {
  /// Whether the list has the domain, or one that it is a subdomain of.
  func contains(_ domain: String) -> Bool
}

/// The domains of email addresses that accounts may get.
package struct EmailDomainRules: Sendable {
  /// Exact domains, in canonical form. Empty: all.
  package var allowed: Set<String> = []
  package var blocked: (any DomainList)?

  package init() {}

  /// - Parameter email: normalised.
  func allows(_ email: String) -> Bool {
    if allowed.isEmpty, blocked == nil { return true }
    let domain = String(emailDomain(email))
    guard allowed.isEmpty || allowed.contains(domain) else { return false }
    return !(blocked?.contains(domain) ?? false)
  }
}

/// A rule of the operator that rejects sign-ups, email addresses, phone numbers or passwords. The raw values are labels
/// of a metric.
package enum RejectionRule: String, Sendable, CaseIterable {
  case signUpClosed = "sign_up_closed"
  case emailDomain = "email_domain"
  case phoneCountry = "phone_country"
  case passwordLength = "password_length"
  case passwordCommon = "password_common"
  case passwordBlockList = "password_block_list"
}

extension Failure {
  /// The rule that rejected the call; nil: none.
  package var rule: RejectionRule? {
    switch reason {
    case .signUpClosed: .signUpClosed
    case .emailDomainNotAllowed: .emailDomain
    case .phoneCountryNotAllowed: .phoneCountry
    case .weakPassword: metadata["rule"].flatMap { RejectionRule(rawValue: "password_\($0)") }
    default: nil
    }
  }
}

/// Rules for the creation of accounts by users, and for the addresses and numbers that they enter (section 4).
///
/// Administrators, imports and custom tokens are exempt.
extension Policy {
  /// Returns the failure of an account that may not be created; nil: it may.
  /// - Parameter email: the address of the new account; nil: it has none.
  func refusalToCreate(email: String?, field: String? = nil) -> Failure? {
    guard signUp != .closed else {
      return Failure(.signUpClosed, hint: "Only invited users have accounts here. Ask an administrator.")
    }
    return email.flatMap { refusal(ofAddress: $0, field: field) }
  }

  /// Returns the failure of an address that no account may get; nil: one may.
  func refusal(ofAddress email: String, field: String?) -> Failure? {
    if emailDomains.allows(email) { return nil }
    return Failure(.emailDomainNotAllowed, field: field, hint: "Use an email address of another domain.")
  }

  /// Returns the failure of a number that gets no text messages from here; nil: it does.
  /// - Parameter number: in E.164.
  func refusal(ofNumber number: String, field: String) -> Failure? {
    if phoneCountries.isEmpty || phoneCountries.contains(where: number.hasPrefix) { return nil }
    return Failure(
      .phoneCountryNotAllowed, field: field, hint: "Use a phone number of a country that the service allows.")
  }
}
