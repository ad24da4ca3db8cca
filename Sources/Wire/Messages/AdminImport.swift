// The meaning of each field stands in proto/latchkey/v1/admin_service.proto.

internal import Messages

package struct ImportAccountsRequest: Sendable, Equatable {
  package var options: ImportOptions?
  package var accounts: [ImportedAccount]

  package init(options: ImportOptions? = nil, accounts: [ImportedAccount] = []) {
    self.options = options
    self.accounts = accounts
  }
}

extension ImportAccountsRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ImportAccountsRequest> { unsafe latchkey__v1__import_accounts_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__ImportAccountsRequest>) {
    unsafe self.init(options: one(form.pointee.options), accounts: list(form.pointee.n_accounts, form.pointee.accounts))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ImportAccountsRequest>, _ arena: Arena) {
    unsafe form.pointee.options = arena.one(options)
    unsafe (form.pointee.n_accounts, form.pointee.accounts) = arena.list(accounts)
  }
}

package struct ImportOptions: Sendable, Equatable {
  package var dryRun: Bool
  package var hash: ImportHash?

  package init(dryRun: Bool = false, hash: ImportHash? = nil) {
    self.dryRun = dryRun
    self.hash = hash
  }
}

extension ImportOptions: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ImportOptions> { unsafe latchkey__v1__import_options__init }

  init(_ form: UnsafePointer<Latchkey__V1__ImportOptions>) {
    unsafe self.init(dryRun: form.pointee.dry_run != 0, hash: one(form.pointee.hash))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ImportOptions>, _ arena: Arena) {
    unsafe form.pointee.dry_run = dryRun ? 1 : 0
    unsafe form.pointee.hash = arena.one(hash)
  }
}

package struct ImportHash: Sendable, Equatable {
  package var algorithm: String
  package var key: [UInt8]
  package var saltSeparator: [UInt8]
  package var rounds: Int32
  package var memoryCost: Int32
  package var parallelization: Int32
  package var blockSize: Int32
  package var derivedKeyBytes: Int32
  package var inputOrder: String

  package init(
    algorithm: String = "", key: [UInt8] = [], saltSeparator: [UInt8] = [], rounds: Int32 = 0, memoryCost: Int32 = 0,
    parallelization: Int32 = 0, blockSize: Int32 = 0, derivedKeyBytes: Int32 = 0, inputOrder: String = ""
  ) {
    self.algorithm = algorithm
    self.key = key
    self.saltSeparator = saltSeparator
    self.rounds = rounds
    self.memoryCost = memoryCost
    self.parallelization = parallelization
    self.blockSize = blockSize
    self.derivedKeyBytes = derivedKeyBytes
    self.inputOrder = inputOrder
  }
}

extension ImportHash: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ImportHash> { unsafe latchkey__v1__import_hash__init }

  init(_ form: UnsafePointer<Latchkey__V1__ImportHash>) {
    unsafe self.init(
      algorithm: text(form.pointee.algorithm), key: bytes(form.pointee.key),
      saltSeparator: bytes(form.pointee.salt_separator), rounds: form.pointee.rounds,
      memoryCost: form.pointee.memory_cost, parallelization: form.pointee.parallelization,
      blockSize: form.pointee.block_size, derivedKeyBytes: form.pointee.derived_key_bytes,
      inputOrder: text(form.pointee.input_order))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ImportHash>, _ arena: Arena) {
    unsafe form.pointee.algorithm = arena.text(algorithm)
    unsafe form.pointee.key = arena.bytes(key)
    unsafe form.pointee.salt_separator = arena.bytes(saltSeparator)
    unsafe form.pointee.rounds = rounds
    unsafe form.pointee.memory_cost = memoryCost
    unsafe form.pointee.parallelization = parallelization
    unsafe form.pointee.block_size = blockSize
    unsafe form.pointee.derived_key_bytes = derivedKeyBytes
    unsafe form.pointee.input_order = arena.text(inputOrder)
  }
}

package struct ImportedAccount: Sendable, Equatable {
  package var accountID: String
  package var email: String
  package var emailVerified: Bool
  package var displayName: String
  package var photoURL: String
  package var phoneNumber: String
  package var disabled: Bool
  package var passwordHash: [UInt8]
  package var salt: [UInt8]
  package var createdAtMillis: Int64?
  package var lastSignInAtMillis: Int64?
  package var customClaimsJSON: String
  package var providers: [LinkedProvider]
  package var phoneFactors: [ImportedPhoneFactor]

  package init(
    accountID: String = "", email: String = "", emailVerified: Bool = false, displayName: String = "",
    photoURL: String = "", phoneNumber: String = "", disabled: Bool = false, passwordHash: [UInt8] = [],
    salt: [UInt8] = [], createdAtMillis: Int64? = nil, lastSignInAtMillis: Int64? = nil,
    customClaimsJSON: String = "", providers: [LinkedProvider] = [], phoneFactors: [ImportedPhoneFactor] = []
  ) {
    self.accountID = accountID
    self.email = email
    self.emailVerified = emailVerified
    self.displayName = displayName
    self.photoURL = photoURL
    self.phoneNumber = phoneNumber
    self.disabled = disabled
    self.passwordHash = passwordHash
    self.salt = salt
    self.createdAtMillis = createdAtMillis
    self.lastSignInAtMillis = lastSignInAtMillis
    self.customClaimsJSON = customClaimsJSON
    self.providers = providers
    self.phoneFactors = phoneFactors
  }
}

extension ImportedAccount: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ImportedAccount> { unsafe latchkey__v1__imported_account__init }

  init(_ form: UnsafePointer<Latchkey__V1__ImportedAccount>) {
    unsafe self.init(
      accountID: text(form.pointee.account_id), email: text(form.pointee.email),
      emailVerified: form.pointee.email_verified != 0, displayName: text(form.pointee.display_name),
      photoURL: text(form.pointee.photo_url), phoneNumber: text(form.pointee.phone_number),
      disabled: form.pointee.disabled != 0, passwordHash: bytes(form.pointee.password_hash),
      salt: bytes(form.pointee.salt), createdAtMillis: millis(form.pointee.created_at),
      lastSignInAtMillis: millis(form.pointee.last_sign_in_at),
      customClaimsJSON: text(form.pointee.custom_claims_json),
      providers: list(form.pointee.n_providers, form.pointee.providers),
      phoneFactors: list(form.pointee.n_phone_factors, form.pointee.phone_factors))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ImportedAccount>, _ arena: Arena) {
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.email = arena.text(email)
    unsafe form.pointee.email_verified = emailVerified ? 1 : 0
    unsafe form.pointee.display_name = arena.text(displayName)
    unsafe form.pointee.photo_url = arena.text(photoURL)
    unsafe form.pointee.phone_number = arena.text(phoneNumber)
    unsafe form.pointee.disabled = disabled ? 1 : 0
    unsafe form.pointee.password_hash = arena.bytes(passwordHash)
    unsafe form.pointee.salt = arena.bytes(salt)
    unsafe form.pointee.created_at = arena.timestamp(createdAtMillis)
    unsafe form.pointee.last_sign_in_at = arena.timestamp(lastSignInAtMillis)
    unsafe form.pointee.custom_claims_json = arena.text(customClaimsJSON)
    unsafe (form.pointee.n_providers, form.pointee.providers) = arena.list(providers)
    unsafe (form.pointee.n_phone_factors, form.pointee.phone_factors) = arena.list(phoneFactors)
  }
}

package struct ImportedPhoneFactor: Sendable, Equatable {
  package var factorID: String
  package var phoneNumber: String
  package var displayName: String
  package var enrolledAtMillis: Int64?

  package init(
    factorID: String = "", phoneNumber: String = "", displayName: String = "", enrolledAtMillis: Int64? = nil
  ) {
    self.factorID = factorID
    self.phoneNumber = phoneNumber
    self.displayName = displayName
    self.enrolledAtMillis = enrolledAtMillis
  }
}

extension ImportedPhoneFactor: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ImportedPhoneFactor> { unsafe latchkey__v1__imported_phone_factor__init }

  init(_ form: UnsafePointer<Latchkey__V1__ImportedPhoneFactor>) {
    unsafe self.init(
      factorID: text(form.pointee.factor_id), phoneNumber: text(form.pointee.phone_number),
      displayName: text(form.pointee.display_name), enrolledAtMillis: millis(form.pointee.enrolled_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ImportedPhoneFactor>, _ arena: Arena) {
    unsafe form.pointee.factor_id = arena.text(factorID)
    unsafe form.pointee.phone_number = arena.text(phoneNumber)
    unsafe form.pointee.display_name = arena.text(displayName)
    unsafe form.pointee.enrolled_at = arena.timestamp(enrolledAtMillis)
  }
}

package struct ImportAccountsResponse: Sendable, Equatable {
  package var imported: Int32
  package var unchanged: Int32
  package var errors: [ImportError]

  package init(imported: Int32 = 0, unchanged: Int32 = 0, errors: [ImportError] = []) {
    self.imported = imported
    self.unchanged = unchanged
    self.errors = errors
  }
}

extension ImportAccountsResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ImportAccountsResponse> { unsafe latchkey__v1__import_accounts_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__ImportAccountsResponse>) {
    unsafe self.init(
      imported: form.pointee.imported, unchanged: form.pointee.unchanged,
      errors: list(form.pointee.n_errors, form.pointee.errors))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ImportAccountsResponse>, _ arena: Arena) {
    unsafe form.pointee.imported = imported
    unsafe form.pointee.unchanged = unchanged
    unsafe (form.pointee.n_errors, form.pointee.errors) = arena.list(errors)
  }
}

package struct ImportError: Sendable, Equatable {
  package var row: Int32
  package var accountID: String
  package var reason: String
  package var field: String
  package var message: String

  package init(row: Int32 = 0, accountID: String = "", reason: String = "", field: String = "", message: String = "") {
    self.row = row
    self.accountID = accountID
    self.reason = reason
    self.field = field
    self.message = message
  }
}

extension ImportError: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__ImportError> { unsafe latchkey__v1__import_error__init }

  init(_ form: UnsafePointer<Latchkey__V1__ImportError>) {
    unsafe self.init(
      row: form.pointee.row, accountID: text(form.pointee.account_id), reason: text(form.pointee.reason),
      field: text(form.pointee.field), message: text(form.pointee.message))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__ImportError>, _ arena: Arena) {
    unsafe form.pointee.row = row
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.reason = arena.text(reason)
    unsafe form.pointee.field = arena.text(field)
    unsafe form.pointee.message = arena.text(message)
  }
}
