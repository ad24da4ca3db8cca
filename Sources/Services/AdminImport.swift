internal import Encodings
internal import GRPC
internal import Identity
internal import Import
internal import Store
internal import API
internal import Protobuf

extension AdminService {
  /// Maximum size of an import message: enough for 1,000 rows of a Firebase export.
  static let batchBytesMax = 524_288
  /// The time limit of imports and exports. A client can repeat an interrupted one.
  static let batchesMillisMax: Int64 = 3_600_000

  var importAccounts: Method {
    Method(
      AdminRPC.importAccounts.path, messageBytesMax: AdminService.batchBytesMax,
      timeLimitMillis: AdminService.batchesMillisMax,
      .stream(fromClient: true) { [shared] context in Importing(shared, context) })
  }
}

/// The handler of ImportAccounts. Responds to each batch before it reads the next.
private final class Importing: StreamHandler {
  private let shared: HandlerContext
  private let context: CallContext
  private var plan: ImportPlan?
  /// The accounts to import next.
  private var batch: [ImportedAccount] = []

  init(_ shared: HandlerContext, _ context: CallContext) {
    self.shared = shared
    self.context = context
  }

  func received(_ message: Message, arena: Arena) throws -> StreamStep {
    let span = message.bytes.span.extracting(message.start..<message.end)
    // The reactor's arena is too small for batches.
    let roomy = Arena(budgetBytes: 65_536 + 8 * message.count)
    let request = try ImportAccountsRequest.decode(span, arena: roomy)
    guard request.accounts.count <= ImportAccounts.rowsMax else {
      throw Shape.invalid("accounts", "Send at most \(ImportAccounts.rowsMax) accounts in a message.")
    }
    if plan != nil, request.options != nil { throw Shape.invalid("options", "Send options in the first message only.") }
    plan = try plan ?? ImportPlan(request.options, shared, try shared.facts(context, message))
    batch = request.accounts
    return StreamStep()
  }

  func ended(arena: Arena) -> StreamStep { StreamStep(isLast: true) }

  func nextWork(nowMillis: Int64) -> StreamWork? {
    guard let plan, !batch.isEmpty else { return nil }
    defer { batch = [] }
    return { [batch] in try await plan.carryOut(batch) }
  }

  func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep {
    guard let response = result as? ImportAccountsResponse else { return StreamStep() }
    return StreamStep([response.encode(arena: arena)])
  }
}

/// The options of an import, from its first message.
private struct ImportPlan: Sendable {
  private let environment: Environment
  private let importing: ImportAccounts
  private let scheme: ForeignHashScheme?
  private let key: ImportKey?
  private let dryRun: Bool

  init(_ options: ImportOptions?, _ shared: HandlerContext, _ call: CallFacts) throws {
    environment = shared.environment
    importing = ImportAccounts(shared.environment, call)
    dryRun = options?.dryRun ?? false
    guard let hash = options?.hash, let algorithm = try Shape.hashAlgorithm(hash.algorithm) else {
      (scheme, key) = (nil, nil)
      return
    }
    let saltFirst = try Shape.saltFirst(hash.inputOrder)
    let takesKey = algorithm.takesKey
    let keyID = takesKey ? ImportAccounts.keyID(hash.key, shared.environment.cryptography) : ""
    do {
      scheme = try ForeignHashScheme(
        ForeignHashOptions(
          hash, algorithm, saltFirst: saltFirst, bcryptCostMax: shared.environment.policy.importedBcryptCostMax),
        keyID: keyID)
    } catch {
      throw Shape.invalid("options.hash." + error.field, error.why)
    }
    key = takesKey ? ImportKey(id: keyID, bytes: hash.key) : nil
  }

  func carryOut(_ accounts: [ImportedAccount]) async throws -> ImportAccountsResponse {
    if let key, !dryRun { try await importing.keep(key) }
    var response = ImportAccountsResponse()
    var (rows, numbers) = ([ImportRow](), [Int]())
    var leftOut: [ImportError] = []
    for (number, account) in accounts.enumerated() {
      // Let other calls on this reactor run.
      if number % 100 == 99 { await Task.yield() }
      do {
        var fields: [Failure] = []
        rows.append(try row(account, leavingOut: &fields))
        numbers.append(number)
        leftOut += fields.map { ImportError(leftOut: $0, number, account) }
      } catch let failure as Failure {
        response.errors.append(ImportError(failure, number, account))
      }
    }
    for (number, verdict) in zip(numbers, try await importing(rows, dryRun: dryRun)) {
      switch verdict {
      case .imported: response.imported += 1
      case .unchanged: response.unchanged += 1
      case .refused(let failure): response.errors.append(ImportError(failure, number, accounts[number]))
      }
    }
    response.errors.sort { $0.row < $1.row }
    let failed = Set(response.errors.map(\.row))
    response.leftOut = leftOut.filter { !failed.contains($0.row) }
    return response
  }

  // MARK: Validation of a row

  private func row(_ account: ImportedAccount, leavingOut fields: inout [Failure]) throws -> ImportRow {
    var row = ImportRow()
    if !account.accountID.isEmpty { row.id = try Shape.accountID(account.accountID, "account_id") }
    if !account.email.isEmpty { row.email = try Shape.email(account.email, "email") }
    row.emailVerified = account.emailVerified
    if !account.phoneNumber.isEmpty { row.phoneNumber = try Shape.phoneNumber(account.phoneNumber, "phone_number") }
    row.displayName = try optional(&fields) {
      try Shape.shown(account.displayName, "display_name", bytesMax: Shape.importedNameBytesMax)
    } ?? ""
    // Firebase takes any text here, and no user should lose an account for it.
    row.photoURL = try optional(&fields) { try Shape.webURL(account.photoURL, "photo_url") } ?? ""
    row.disabled = account.disabled
    if !account.passwordHash.isEmpty { row.passwordHash = try hash(account) }
    row.createdAt = account.createdAtMillis.map(Timestamp.init)
    row.lastSignInAt = account.lastSignInAtMillis.map(Timestamp.init)
    if !account.customClaimsJSON.isEmpty {
      try environment.tokens.validateCustomClaims(account.customClaimsJSON, field: "custom_claims_json")
      row.customClaimsJSON = account.customClaimsJSON
    }
    row.identities = try account.providers.filter { !ImportPlan.ownWays.contains($0.providerID) }.map { provider in
      try identity(provider, leavingOut: &fields)
    }
    row.phoneFactors = try account.phoneFactors.map(factor)
    row.passkeyFactors = try account.passkeyFactors.map(factor)
    return row
  }

  /// Sign-in methods that exports list with the identities. Other fields of the row already contain them.
  private static let ownWays = ["password", "phone", "emailLink"]

  private func hash(_ account: ImportedAccount) throws -> String {
    guard let scheme else {
      throw Shape.invalid("password_hash", "Set options.hash to import password hashes.")
    }
    do {
      return try scheme.text(hash: account.passwordHash, salt: account.salt)
    } catch {
      throw Shape.invalid(error.field, error.why)
    }
  }

  private func identity(_ provider: LinkedProvider, leavingOut fields: inout [Failure]) throws -> ImportRow.Identity {
    let providerID = try Shape.required(
      provider.providerID, "providers.provider_id", bytesMax: Shape.providerIDBytesMax)
    let subject = try Shape.required(provider.subject, "providers.subject", bytesMax: Shape.subjectBytesMax)
    if providerID == SignInMethods.passkey { return try passkey(provider) }
    let key = IdentityKey(
      providerID: providerID, subject: try environment.providers.subject(ofImported: subject, at: providerID))
    let email = provider.email.isEmpty
      ? nil : try optional(&fields) { try Shape.email(provider.email, "providers.email") }
    return ImportRow.Identity(
      key: key, email: email,
      displayName: ShownText.cut(ShownText.cleaned(provider.displayName), bytesMax: Shape.importedNameBytesMax),
      photoURL: try optional(&fields) { try Shape.webURL(provider.photoURL, "providers.photo_url") } ?? "")
  }

  /// Validates the record of a passkey, whose id must be that of its credential.
  private func passkey(_ provider: LinkedProvider) throws -> ImportRow.Identity {
    let record = try Shape.token(provider.passkeyRecord, "providers.passkey_record")
    guard let bytes = Base64URL.decode(record), let passkey = Identity.Passkey(packed: bytes),
      let identity = ImportRow.Identity(
        passkey, id: provider.subject, name: try Shape.shown(
          provider.displayName, "providers.display_name", bytesMax: Shape.displayNameBytesMax), environment)
    else { throw Shape.invalid("providers.passkey_record", "Send it as ExportAccounts returned it.") }
    return identity
  }

  /// Validates a field that only describes an identity. Reports an invalid value, but still imports the account.
  private func optional(_ fields: inout [Failure], _ value: () throws -> String) throws -> String? {
    do {
      return try value()
    } catch let failure as Failure {
      fields.append(failure)
      return nil
    }
  }

  private func factor(_ factor: ImportedPasskeyFactor) throws -> ImportRow.PasskeyFactor {
    let record = try Shape.token(factor.passkeyRecord, "passkey_factors.passkey_record")
    guard let bytes = Base64URL.decode(record), let passkey = Identity.Passkey(packed: bytes),
      1...1_023 ~= passkey.credentialID.count
    else { throw Shape.invalid("passkey_factors.passkey_record", "Send it as ExportAccounts returned it.") }
    return ImportRow.PasskeyFactor(
      id: factor.factorID.isEmpty ? nil : try Shape.required(
        factor.factorID, "passkey_factors.factor_id", bytesMax: Shape.factorIDBytesMax),
      passkey: passkey,
      displayName: try Shape.shown(
        factor.displayName, "passkey_factors.display_name", bytesMax: Shape.displayNameBytesMax),
      enrolledAt: factor.enrolledAtMillis.map(Timestamp.init))
  }

  private func factor(_ factor: ImportedPhoneFactor) throws -> ImportRow.PhoneFactor {
    ImportRow.PhoneFactor(
      id: factor.factorID.isEmpty ? nil : try Shape.required(
        factor.factorID, "phone_factors.factor_id", bytesMax: Shape.factorIDBytesMax),
      phoneNumber: try Shape.phoneNumber(factor.phoneNumber, "phone_factors.phone_number"),
      displayName: try Shape.shown(
        factor.displayName, "phone_factors.display_name", bytesMax: Shape.displayNameBytesMax),
      enrolledAt: factor.enrolledAtMillis.map(Timestamp.init))
  }
}

extension ForeignHashOptions {
  fileprivate init(
    _ hash: ImportHash, _ algorithm: ForeignHashAlgorithm, saltFirst: Bool, bcryptCostMax: Int
  ) {
    self.init(algorithm: algorithm)
    key = hash.key
    saltSeparator = hash.saltSeparator
    rounds = Int(hash.rounds)
    memoryCost = Int(hash.memoryCost)
    parallelization = Int(hash.parallelization)
    blockSize = Int(hash.blockSize)
    derivedKeyBytes = Int(hash.derivedKeyBytes)
    self.saltFirst = saltFirst
    self.bcryptCostMax = bcryptCostMax
  }
}

extension ImportError {
  fileprivate init(_ failure: Failure, _ row: Int, _ account: ImportedAccount) {
    self.init(
      row: Int32(row), accountID: account.accountID, reason: ErrorReason(failure.reason), field: failure.field ?? "",
      message: failure.hint)
  }

  fileprivate init(leftOut failure: Failure, _ row: Int, _ account: ImportedAccount) {
    self.init(failure, row, account)
    reason = .unspecified
  }
}
