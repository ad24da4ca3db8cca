// An account as callers see it. The meaning of each field stands in proto/latchkey/v1/types.proto.

internal import Messages

package struct Account: Sendable, Equatable {
  package var accountID: String
  package var email: String
  package var emailVerified: Bool
  package var phoneNumber: String
  package var displayName: String
  package var photoURL: String
  package var anonymous: Bool
  package var disabled: Bool
  package var createdAtMillis: Int64?
  package var lastSignInAtMillis: Int64?
  package var providers: [LinkedProvider]
  package var secondFactors: [SecondFactorHint]
  package var customClaimsJSON: String

  package init(
    accountID: String = "", email: String = "", emailVerified: Bool = false, phoneNumber: String = "",
    displayName: String = "", photoURL: String = "", anonymous: Bool = false, disabled: Bool = false,
    createdAtMillis: Int64? = nil, lastSignInAtMillis: Int64? = nil, providers: [LinkedProvider] = [],
    secondFactors: [SecondFactorHint] = [], customClaimsJSON: String = ""
  ) {
    self.accountID = accountID
    self.email = email
    self.emailVerified = emailVerified
    self.phoneNumber = phoneNumber
    self.displayName = displayName
    self.photoURL = photoURL
    self.anonymous = anonymous
    self.disabled = disabled
    self.createdAtMillis = createdAtMillis
    self.lastSignInAtMillis = lastSignInAtMillis
    self.providers = providers
    self.secondFactors = secondFactors
    self.customClaimsJSON = customClaimsJSON
  }
}

extension Account: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__Account> { unsafe latchkey__v1__account__init }

  init(_ form: UnsafePointer<Latchkey__V1__Account>) {
    unsafe self.init(
      accountID: text(form.pointee.account_id), email: text(form.pointee.email),
      emailVerified: form.pointee.email_verified != 0, phoneNumber: text(form.pointee.phone_number),
      displayName: text(form.pointee.display_name), photoURL: text(form.pointee.photo_url),
      anonymous: form.pointee.anonymous != 0, disabled: form.pointee.disabled != 0,
      createdAtMillis: millis(form.pointee.created_at), lastSignInAtMillis: millis(form.pointee.last_sign_in_at),
      providers: list(form.pointee.n_providers, form.pointee.providers),
      secondFactors: list(form.pointee.n_second_factors, form.pointee.second_factors),
      customClaimsJSON: text(form.pointee.custom_claims_json))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__Account>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.email_verified = emailVerified ? 1 : 0
    unsafe form.pointee.phone_number = arena.text(phoneNumber)
    unsafe form.pointee.display_name = arena.text(displayName)
    unsafe form.pointee.photo_url = arena.text(photoURL)
    unsafe form.pointee.anonymous = anonymous ? 1 : 0
    unsafe form.pointee.disabled = disabled ? 1 : 0
    unsafe form.pointee.created_at = arena.timestamp(createdAtMillis)
    unsafe form.pointee.last_sign_in_at = arena.timestamp(lastSignInAtMillis)
    unsafe (form.pointee.n_providers, form.pointee.providers) = arena.list(providers)
    unsafe (form.pointee.n_second_factors, form.pointee.second_factors) = arena.list(secondFactors)
    unsafe form.pointee.custom_claims_json = arena.text(customClaimsJSON)
  }
}

package struct LinkedProvider: Sendable, Equatable {
  package var providerID: String
  package var subject: String
  package var email: String
  package var displayName: String
  package var photoURL: String
  package var phoneNumber: String
  package var linkedAtMillis: Int64?

  package init(
    providerID: String = "", subject: String = "", email: String = "", displayName: String = "",
    photoURL: String = "", phoneNumber: String = "", linkedAtMillis: Int64? = nil
  ) {
    self.providerID = providerID
    self.subject = subject
    self.email = email
    self.displayName = displayName
    self.photoURL = photoURL
    self.phoneNumber = phoneNumber
    self.linkedAtMillis = linkedAtMillis
  }
}

extension LinkedProvider: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__LinkedProvider> { unsafe latchkey__v1__linked_provider__init }

  init(_ form: UnsafePointer<Latchkey__V1__LinkedProvider>) {
    unsafe self.init(
      providerID: text(form.pointee.provider_id), subject: text(form.pointee.subject),
      email: text(form.pointee.email), displayName: text(form.pointee.display_name),
      photoURL: text(form.pointee.photo_url), phoneNumber: text(form.pointee.phone_number),
      linkedAtMillis: millis(form.pointee.linked_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__LinkedProvider>, _ arena: Arena) {
    unsafe form.pointee.provider_id = arena.text(providerID)
    unsafe form.pointee.subject = arena.text(subject)
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.display_name = arena.text(displayName)
    unsafe form.pointee.photo_url = arena.text(photoURL)
    unsafe form.pointee.phone_number = arena.text(phoneNumber)
    unsafe form.pointee.linked_at = arena.timestamp(linkedAtMillis)
  }
}

package struct SecondFactorHint: Sendable, Equatable {
  package var factorID: String
  package var kind: String
  package var displayName: String
  package var maskedPhoneNumber: String
  package var enrolledAtMillis: Int64?

  package init(
    factorID: String = "", kind: String = "", displayName: String = "", maskedPhoneNumber: String = "",
    enrolledAtMillis: Int64? = nil
  ) {
    self.factorID = factorID
    self.kind = kind
    self.displayName = displayName
    self.maskedPhoneNumber = maskedPhoneNumber
    self.enrolledAtMillis = enrolledAtMillis
  }
}

extension SecondFactorHint: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SecondFactorHint> { unsafe latchkey__v1__second_factor_hint__init }

  init(_ form: UnsafePointer<Latchkey__V1__SecondFactorHint>) {
    unsafe self.init(
      factorID: text(form.pointee.factor_id), kind: text(form.pointee.kind),
      displayName: text(form.pointee.display_name), maskedPhoneNumber: text(form.pointee.masked_phone_number),
      enrolledAtMillis: millis(form.pointee.enrolled_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SecondFactorHint>, _ arena: Arena) {
    unsafe form.pointee.factor_id = arena.text(factorID)
    unsafe form.pointee.kind = arena.text(kind)
    unsafe form.pointee.display_name = arena.text(displayName)
    unsafe form.pointee.masked_phone_number = arena.text(maskedPhoneNumber)
    unsafe form.pointee.enrolled_at = arena.timestamp(enrolledAtMillis)
  }
}
