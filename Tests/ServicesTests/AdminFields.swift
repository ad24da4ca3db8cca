import API

private let admin = "/latchkey.v1.AdminService/"

private func update(_ path: String, _ change: (inout Account) -> Void) -> UpdateAccountRequest {
  var account = Account()
  change(&account)
  return UpdateAccountRequest(accountID: "account", account: account, updateMask: FieldMask(paths: [path]))
}

/// A URL of as many bytes as the text has.
private func url(_ text: String) -> String {
  let scheme = "https://"
  return text.isEmpty ? "" : scheme + String(decoding: text.utf8.dropFirst(scheme.utf8.count), as: UTF8.self)
}

private func factors(_ setting: SecondFactorSetting) -> SetSecondFactorsRequest {
  SetSecondFactorsRequest(accountID: "account", factors: [setting])
}

/// The text fields of the calls that create, change, find and remove accounts.
let adminFields: [TextField] = [
  TextField(path: admin + "CreateAccount", name: "account_id", bytesMax: 128) {
    API.CreateAccountRequest(accountID: $0)
  },
  TextField(path: admin + "CreateAccount", name: "display_name", bytesMax: 256) {
    API.CreateAccountRequest(displayName: $0)
  },
  TextField(path: admin + "CreateAccount", name: "photo_url", bytesMax: 2_048) {
    API.CreateAccountRequest(photoURL: url($0))
  },
  TextField(path: admin + "CreateAccount", name: "password", bytesMax: 1_024) {
    API.CreateAccountRequest(email: "a@example.com", password: $0)
  },
  TextField(path: admin + "UpdateAccount", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    API.UpdateAccountRequest(accountID: $0, updateMask: FieldMask(paths: ["disabled"]))
  },
  TextField(path: admin + "UpdateAccount", name: "account.display_name", bytesMax: 256) { text in
    update("display_name") { $0.displayName = text }
  },
  TextField(path: admin + "UpdateAccount", name: "account.photo_url", bytesMax: 2_048) { text in
    update("photo_url") { $0.photoURL = url(text) }
  },
  TextField(path: admin + "UpdateAccount", name: "password", bytesMax: 1_024) {
    API.UpdateAccountRequest(accountID: "account", updateMask: FieldMask(paths: ["password"]), password: $0)
  },
  TextField(path: admin + "LinkIdentity", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    LinkIdentityRequest(accountID: $0, providerID: "google.com", subject: "1")
  },
  TextField(path: admin + "LinkIdentity", name: "provider_id", bytesMax: 72, mayBeEmpty: false) {
    LinkIdentityRequest(accountID: "account", providerID: $0, subject: "1")
  },
  TextField(path: admin + "LinkIdentity", name: "subject", bytesMax: 255, mayBeEmpty: false) {
    LinkIdentityRequest(accountID: "account", providerID: "google.com", subject: $0)
  },
  TextField(path: admin + "LinkIdentity", name: "display_name", bytesMax: 1_024) {
    LinkIdentityRequest(accountID: "account", providerID: "google.com", subject: "1", displayName: $0)
  },
  TextField(path: admin + "LinkIdentity", name: "photo_url", bytesMax: 2_048) {
    LinkIdentityRequest(accountID: "account", providerID: "google.com", subject: "1", photoURL: url($0))
  },
  TextField(path: admin + "SetSecondFactors", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    SetSecondFactorsRequest(accountID: $0)
  },
  TextField(path: admin + "SetSecondFactors", name: "factors.factor_id", bytesMax: 128) {
    factors(SecondFactorSetting(factorID: $0, secret: .phoneNumber("+15550100")))
  },
  TextField(path: admin + "SetSecondFactors", name: "factors.display_name", bytesMax: 256) {
    factors(SecondFactorSetting(displayName: $0, secret: .phoneNumber("+15550100")))
  },
  TextField(path: admin + "ForgetAccount", name: "account_id", bytesMax: 128, mayBeEmpty: false) {
    ForgetAccountRequest(accountID: $0)
  },
]
