// The meaning of each field stands in proto/latchkey/v1/verification_service.proto.

internal import Messages

package struct SendPhoneCodeRequest: Sendable, Equatable {
  package var phoneNumber: String
  /// nil: a number that is no purpose.
  package var purpose: ProofPurpose?
  package var idToken: String
  package var locale: String
  package var client: ClientContext?
  package var binding: String

  package init(
    phoneNumber: String = "", purpose: ProofPurpose? = .unspecified, idToken: String = "", locale: String = "",
    client: ClientContext? = nil, binding: String = ""
  ) {
    self.phoneNumber = phoneNumber
    self.purpose = purpose
    self.idToken = idToken
    self.locale = locale
    self.client = client
    self.binding = binding
  }
}

extension SendPhoneCodeRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendPhoneCodeRequest> { unsafe latchkey__v1__send_phone_code_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__SendPhoneCodeRequest>) {
    unsafe self.init(
      phoneNumber: text(form.pointee.phone_number),
      purpose: ProofPurpose(rawValue: Int32(bitPattern: form.pointee.purpose.rawValue)),
      idToken: text(form.pointee.id_token), locale: text(form.pointee.locale), client: one(form.pointee.client),
      binding: text(form.pointee.binding))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendPhoneCodeRequest>, _ arena: Arena) {
    unsafe form.pointee.phone_number = arena.text(phoneNumber)
    // No purpose stays none: unspecified means one.
    unsafe form.pointee.purpose = Latchkey__V1__PhoneCodePurpose(
      rawValue: UInt32(bitPattern: purpose?.rawValue ?? -1))
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.locale = arena.text(locale)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.binding = arena.text(binding)
  }
}

package struct SendPhoneCodeResponse: Sendable, Equatable {
  package var verificationID: String
  package var expiresAtMillis: Int64?

  package init(verificationID: String = "", expiresAtMillis: Int64? = nil) {
    self.verificationID = verificationID
    self.expiresAtMillis = expiresAtMillis
  }
}

extension SendPhoneCodeResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SendPhoneCodeResponse> { unsafe latchkey__v1__send_phone_code_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__SendPhoneCodeResponse>) {
    unsafe self.init(
      verificationID: text(form.pointee.verification_id), expiresAtMillis: millis(form.pointee.expires_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SendPhoneCodeResponse>, _ arena: Arena) {
    unsafe form.pointee.verification_id = arena.text(verificationID)
    unsafe form.pointee.expires_at = arena.timestamp(expiresAtMillis)
  }
}
