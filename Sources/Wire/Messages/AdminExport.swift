// The meaning of each field stands in proto/latchkey/v1/admin_service.proto.

internal import Messages

package struct ExportAccountsRequest: Sendable, Equatable {
  package var includeSecrets: Bool

  package init(includeSecrets: Bool = false) {
    self.includeSecrets = includeSecrets
  }
}

extension ExportAccountsRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ExportAccountsRequest> { unsafe latchkey__v1__export_accounts_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__ExportAccountsRequest>) {
    unsafe self.init(includeSecrets: form.pointee.include_secrets != 0)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ExportAccountsRequest>, _ arena: Arena) {
    unsafe form.pointee.include_secrets = includeSecrets ? 1 : 0
  }
}

package struct ExportAccountsResponse: Sendable, Equatable {
  package var accounts: [ExportedAccount]

  package init(accounts: [ExportedAccount] = []) {
    self.accounts = accounts
  }
}

extension ExportAccountsResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ExportAccountsResponse> { unsafe latchkey__v1__export_accounts_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__ExportAccountsResponse>) {
    unsafe self.init(accounts: list(form.pointee.n_accounts, form.pointee.accounts))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ExportAccountsResponse>, _ arena: Arena) {
    unsafe (form.pointee.n_accounts, form.pointee.accounts) = arena.list(accounts)
  }
}

package struct ExportedAccount: Sendable, Equatable {
  package var account: Account?
  package var passwordHash: String

  package init(account: Account? = nil, passwordHash: String = "") {
    self.account = account
    self.passwordHash = passwordHash
  }
}

extension ExportedAccount: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ExportedAccount> { unsafe latchkey__v1__exported_account__init }

  init(_ form: UnsafePointer<Latchkey__V1__ExportedAccount>) {
    unsafe self.init(account: one(form.pointee.account), passwordHash: text(form.pointee.password_hash))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ExportedAccount>, _ arena: Arena) {
    unsafe form.pointee.account = arena.one(account)
    unsafe form.pointee.password_hash = arena.text(passwordHash)
  }
}
