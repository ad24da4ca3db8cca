/// FlowPurpose and PhoneCodePurpose: two enums in proto/, where names must not meet, of the same numbers.
package enum ProofPurpose: Int32, Sendable {
  case unspecified = 0, signIn = 1, link = 2, reauthenticate = 3
}
