// The meaning of each field stands in proto/latchkey/v1/admin_service.proto.

internal import Messages

package struct ListRequest: Sendable, Equatable {
  package var pageToken: String
  package var pageSize: Int32

  package init(pageToken: String = "", pageSize: Int32 = 0) {
    self.pageToken = pageToken
    self.pageSize = pageSize
  }
}

extension ListRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ListRequest> { unsafe latchkey__v1__list_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__ListRequest>) {
    unsafe self.init(pageToken: text(form.pointee.page_token), pageSize: form.pointee.page_size)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ListRequest>, _ arena: Arena) {
    unsafe form.pointee.page_token = arena.text(pageToken)
    unsafe form.pointee.page_size = pageSize
  }
}

package struct ListResponse: Sendable, Equatable {
  package var accounts: [Account]
  package var nextPageToken: String

  package init(accounts: [Account] = [], nextPageToken: String = "") {
    self.accounts = accounts
    self.nextPageToken = nextPageToken
  }
}

extension ListResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ListResponse> { unsafe latchkey__v1__list_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__ListResponse>) {
    unsafe self.init(
      accounts: list(form.pointee.n_accounts, form.pointee.accounts),
      nextPageToken: text(form.pointee.next_page_token))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ListResponse>, _ arena: Arena) {
    unsafe (form.pointee.n_accounts, form.pointee.accounts) = arena.list(accounts)
    unsafe form.pointee.next_page_token = arena.text(nextPageToken)
  }
}

package struct SetDisabledRequest: Sendable, Equatable {
  package var accountID: String
  package var disabled: Bool

  package init(accountID: String = "", disabled: Bool = false) {
    self.accountID = accountID
    self.disabled = disabled
  }
}

extension SetDisabledRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SetDisabledRequest> { unsafe latchkey__v1__set_disabled_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__SetDisabledRequest>) {
    unsafe self.init(accountID: text(form.pointee.account_id), disabled: form.pointee.disabled != 0)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SetDisabledRequest>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.disabled = disabled ? 1 : 0
  }
}

package struct SetDisabledResponse: Sendable, Equatable {
  package var account: Account?

  package init(account: Account? = nil) {
    self.account = account
  }
}

extension SetDisabledResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SetDisabledResponse> { unsafe latchkey__v1__set_disabled_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__SetDisabledResponse>) {
    unsafe self.init(account: one(form.pointee.account))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SetDisabledResponse>, _ arena: Arena) {
    unsafe form.pointee.account = arena.one(account)
  }
}

package struct SetCustomClaimsRequest: Sendable, Equatable {
  package var accountID: String
  package var claimsJSON: String

  package init(accountID: String = "", claimsJSON: String = "") {
    self.accountID = accountID
    self.claimsJSON = claimsJSON
  }
}

extension SetCustomClaimsRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SetCustomClaimsRequest> { unsafe latchkey__v1__set_custom_claims_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__SetCustomClaimsRequest>) {
    unsafe self.init(accountID: text(form.pointee.account_id), claimsJSON: text(form.pointee.claims_json))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SetCustomClaimsRequest>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.claims_json = arena.text(claimsJSON)
  }
}

package struct SetCustomClaimsResponse: Sendable, Equatable {
  package var account: Account?

  package init(account: Account? = nil) {
    self.account = account
  }
}

extension SetCustomClaimsResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__SetCustomClaimsResponse> {
    unsafe latchkey__v1__set_custom_claims_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__SetCustomClaimsResponse>) {
    unsafe self.init(account: one(form.pointee.account))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__SetCustomClaimsResponse>, _ arena: Arena) {
    unsafe form.pointee.account = arena.one(account)
  }
}

package struct RevokeSessionsRequest: Sendable, Equatable {
  package var accountID: String

  package init(accountID: String = "") {
    self.accountID = accountID
  }
}

extension RevokeSessionsRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__RevokeSessionsRequest> { unsafe latchkey__v1__revoke_sessions_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__RevokeSessionsRequest>) {
    unsafe self.init(accountID: text(form.pointee.account_id))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__RevokeSessionsRequest>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
  }
}

package struct RevokeSessionsResponse: Sendable, Equatable {
  package var closed: Int32

  package init(closed: Int32 = 0) {
    self.closed = closed
  }
}

extension RevokeSessionsResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__RevokeSessionsResponse> { unsafe latchkey__v1__revoke_sessions_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__RevokeSessionsResponse>) {
    unsafe self.init(closed: form.pointee.closed)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__RevokeSessionsResponse>, _ arena: Arena) {
    unsafe form.pointee.closed = closed
  }
}

package struct DeleteAccountRequest: Sendable, Equatable {
  package var accountID: String

  package init(accountID: String = "") {
    self.accountID = accountID
  }
}

extension DeleteAccountRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__DeleteAccountRequest> { unsafe latchkey__v1__delete_account_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__DeleteAccountRequest>) {
    unsafe self.init(accountID: text(form.pointee.account_id))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__DeleteAccountRequest>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
  }
}

package struct DeleteAccountResponse: Sendable, Equatable {
  package init() {}
}

extension DeleteAccountResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__DeleteAccountResponse> { unsafe latchkey__v1__delete_account_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__DeleteAccountResponse>) {}

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__DeleteAccountResponse>, _ arena: Arena) {}
}

package struct RemoveSecondFactorsRequest: Sendable, Equatable {
  package var accountID: String

  package init(accountID: String = "") {
    self.accountID = accountID
  }
}

extension RemoveSecondFactorsRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__RemoveSecondFactorsRequest> {
    unsafe latchkey__v1__remove_second_factors_request__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__RemoveSecondFactorsRequest>) {
    unsafe self.init(accountID: text(form.pointee.account_id))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__RemoveSecondFactorsRequest>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
  }
}

package struct RemoveSecondFactorsResponse: Sendable, Equatable {
  package var account: Account?
  package var removed: Int32

  package init(account: Account? = nil, removed: Int32 = 0) {
    self.account = account
    self.removed = removed
  }
}

extension RemoveSecondFactorsResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__RemoveSecondFactorsResponse> {
    unsafe latchkey__v1__remove_second_factors_response__init
  }

  init(_ form: UnsafePointer<Latchkey__V1__RemoveSecondFactorsResponse>) {
    unsafe self.init(account: one(form.pointee.account), removed: form.pointee.removed)
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__RemoveSecondFactorsResponse>, _ arena: Arena) {
    unsafe form.pointee.account = arena.one(account)
    unsafe form.pointee.removed = removed
  }
}

package struct UnlinkProviderRequest: Sendable, Equatable {
  package var accountID: String
  package var providerID: String

  package init(accountID: String = "", providerID: String = "") {
    self.accountID = accountID
    self.providerID = providerID
  }
}

extension UnlinkProviderRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__UnlinkProviderRequest> { unsafe latchkey__v1__unlink_provider_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__UnlinkProviderRequest>) {
    unsafe self.init(accountID: text(form.pointee.account_id), providerID: text(form.pointee.provider_id))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__UnlinkProviderRequest>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.provider_id = arena.text(providerID)
  }
}

package struct UnlinkProviderResponse: Sendable, Equatable {
  package var account: Account?

  package init(account: Account? = nil) {
    self.account = account
  }
}

extension UnlinkProviderResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__UnlinkProviderResponse> { unsafe latchkey__v1__unlink_provider_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__UnlinkProviderResponse>) {
    unsafe self.init(account: one(form.pointee.account))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__UnlinkProviderResponse>, _ arena: Arena) {
    unsafe form.pointee.account = arena.one(account)
  }
}
