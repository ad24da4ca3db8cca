internal import Encodings
internal import GRPC
internal import Identity
internal import Import
internal import Store
internal import API

extension AdminService {
  /// Of one message: a thousand rows as Firebase exports them.
  static let batchBytesMax = 524_288
  /// Imports and exports end by themselves, and begin again where they were cut off.
  static let batchesMillisMax: Int64 = 3_600_000

  var importAccounts: Method {
    Method(
      AdminRPC.importAccounts.path, messageBytesMax: AdminService.batchBytesMax,
      timeLimitMillis: AdminService.batchesMillisMax,
      .stream(fromClient: true) { [desk] context in Importing(desk, context) })
  }
}

/// One stream of batches: each message with rows is answered before the next is looked at.
private final class Importing: StreamHandler {
  private let desk: Desk
  private let context: CallContext
  private var plan: ImportPlan?
  /// To be carried out next.
  private var batch: [ImportedAccount] = []

  init(_ desk: Desk, _ context: CallContext) {
    self.desk = desk
    self.context = context
  }

  func received(_ message: Message, arena: Arena) throws -> StreamStep {
    let span = message.bytes.span.extracting(message.start..<message.end)
    // The reactor's own arena is made for single requests.
    let roomy = Arena(budgetBytes: 65_536 + 8 * message.count)
    let request = try ImportAccountsRequest.decode(span, arena: roomy)
    guard request.accounts.count <= ImportAccounts.rowsMax else {
      throw Shape.invalid("accounts", "At most \(ImportAccounts.rowsMax) in a message.")
    }
    if plan != nil, request.options != nil { throw Shape.invalid("options", "Only the first message says how.") }
    plan = try plan ?? ImportPlan(request.options, desk, try desk.facts(context, message))
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

/// What the first message says of all rows.
private struct ImportPlan: Sendable {
  private let environment: Environment
  private let importing: ImportAccounts
  private let scheme: ForeignHashScheme?
  private let key: ImportKey?
  private let dryRun: Bool

  init(_ options: ImportOptions?, _ desk: Desk, _ call: CallFacts) throws {
    environment = desk.environment
    importing = ImportAccounts(desk.environment, call)
    dryRun = options?.dryRun ?? false
    guard let hash = options?.hash, !hash.algorithm.isEmpty else {
      (scheme, key) = (nil, nil)
      return
    }
    let takesKey = ForeignHashScheme.takesKey(hash.algorithm)
    let keyID = takesKey ? ImportAccounts.keyID(hash.key, desk.environment.cryptography) : ""
    do {
      scheme = try ForeignHashScheme(ForeignHashOptions(hash), keyID: keyID)
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
      // Others want this reactor, too.
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

  // MARK: the shape of a row

  private func row(_ account: ImportedAccount, leavingOut fields: inout [Failure]) throws -> ImportRow {
    var row = ImportRow()
    if !account.accountID.isEmpty { row.id = try Shape.accountID(account.accountID, "account_id") }
    if !account.email.isEmpty { row.email = try Shape.email(account.email, "email") }
    row.emailVerified = account.emailVerified
    if !account.phoneNumber.isEmpty { row.phoneNumber = try Shape.phoneNumber(account.phoneNumber, "phone_number") }
    row.displayName = try Shape.shown(account.displayName, "display_name", bytesMax: Shape.importedNameBytesMax)
    row.photoURL = try Shape.webURL(account.photoURL, "photo_url")
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
    return row
  }

  /// What exports list beside the identities; other fields of the row say it.
  private static let ownWays = ["password", "phone", "emailLink"]

  private func hash(_ account: ImportedAccount) throws -> String {
    guard let scheme else {
      throw Shape.invalid("password_hash", "The options do not say how password hashes were made.")
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
    let key = IdentityKey(
      providerID: providerID, subject: try environment.providers.subject(ofImported: subject, at: providerID))
    let email = provider.email.isEmpty
      ? nil : try optional(&fields) { try Shape.email(provider.email, "providers.email") }
    return ImportRow.Identity(
      key: key, email: email,
      displayName: ShownText.cut(ShownText.cleaned(provider.displayName), bytesMax: Shape.importedNameBytesMax),
      photoURL: try optional(&fields) { try Shape.webURL(provider.photoURL, "providers.photo_url") } ?? "")
  }

  /// What only describes an identity: a value that is not valid is reported, and costs no user their account.
  private func optional(_ fields: inout [Failure], _ value: () throws -> String) throws -> String? {
    do {
      return try value()
    } catch let failure as Failure {
      fields.append(failure)
      return nil
    }
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
  init(_ hash: ImportHash) {
    self.init(algorithm: hash.algorithm)
    key = hash.key
    saltSeparator = hash.saltSeparator
    rounds = Int(hash.rounds)
    memoryCost = Int(hash.memoryCost)
    parallelization = Int(hash.parallelization)
    blockSize = Int(hash.blockSize)
    derivedKeyBytes = Int(hash.derivedKeyBytes)
    inputOrder = hash.inputOrder
  }
}

extension ImportError {
  fileprivate init(_ failure: Failure, _ row: Int, _ account: ImportedAccount) {
    self.init(
      row: Int32(row), accountID: account.accountID, reason: failure.reason.rawValue, field: failure.field ?? "",
      message: failure.hint)
  }

  fileprivate init(leftOut failure: Failure, _ row: Int, _ account: ImportedAccount) {
    self.init(failure, row, account)
    reason = ""
  }
}
