import Import
import Reactor
import Tokens
import API

/// The rows of one message, and their numbers in the file, from 1.
struct ImportBatch {
  var accounts: [ImportedAccount] = []
  var numbers: [Int] = []
}

/// An export file, read in batches while its rows are sent.
final class ExportFile {
  /// Maximum size of a batch, in bytes of the file. The resulting message is smaller.
  private static let batchBytesMax = 393_216

  private let path: String
  private let reader: FileReader
  private let rowsMax: Int
  private let nowMillis = wallMillis()
  private var cutter = UserFile()
  private var users: [UserFile.Row] = []
  private var isRead = false
  private var number = 0

  init(_ path: String, rowsMax: Int) throws {
    self.path = path
    self.rowsMax = rowsMax
    do {
      reader = path == "-" ? FileReader.ofStandardInput() : try FileReader(path)
    } catch {
      throw Ending.usage(path, "\(error)")
    }
  }

  /// Reads the next batch. Returns nil at the end of the file.
  ///
  /// - Parameter tally: receives unreadable rows and ignored members.
  func next(skipping tally: ImportTally) throws -> ImportBatch? {
    var (batch, byteCount) = (ImportBatch(), 0)
    while batch.accounts.count < rowsMax, let row = try nextUser() {
      if byteCount + row.byteCount > ExportFile.batchBytesMax, !batch.accounts.isEmpty {
        users.append(row)
        break
      }
      number += 1
      byteCount += row.byteCount
      do throws(UserError) {
        guard let user = try row.user(nowMillis: nowMillis) else { continue }
        if let field = tally.seenBefore(user) {
          tally.refuse(number, user.id, ExportFile.reasonOfSecond(field), field, "An earlier row has the same value.")
          continue
        }
        tally.leaveOut(user.leftOut)
        tally.noteMethods(user)
        batch.accounts.append(ImportedAccount(user))
        batch.numbers.append(number)
      } catch {
        tally.refuse(number, error.id, .invalidField, error.field, error.why)
      }
    }
    return batch.accounts.isEmpty ? nil : batch
  }

  /// As the server says it of two rows of one message.
  private static func reasonOfSecond(_ field: String) -> ErrorReason {
    switch field {
    case "email": .emailAlreadyInUse
    case "account_id": .invalidField
    default: .providerAlreadyLinked
    }
  }

  /// What to know about the file before its users are trusted; nil: nothing.
  var warning: String? {
    guard cutter.isTable else { return nil }
    return "Older releases of firebase-tools do not escape names in CSV, so a user could have added rows. Compare the "
      + "number of rows with that of the project's users, or import JSON."
  }

  /// Returns the next row. `users` is in reverse order.
  private func nextUser() throws -> UserFile.Row? {
    while users.isEmpty, !isRead {
      do {
        var found: [UserFile.Row] = []
        if let portion = try reader.next() {
          try cutter.append(portion) { found.append($0) }
        } else {
          isRead = true
          try cutter.finish { found.append($0) }
        }
        users = found.reversed()
      } catch {
        throw Ending.usage(path, "\(error)")
      }
    }
    return users.popLast()
  }
}

extension ImportedAccount {
  init(_ user: FirebaseUser) {
    self.init(
      accountID: user.id, email: user.email, emailVerified: user.emailVerified, displayName: user.displayName,
      photoURL: user.photoURL, phoneNumber: user.phoneNumber, disabled: user.disabled,
      passwordHash: user.passwordHash, salt: user.salt, createdAtMillis: user.createdAtMillis,
      lastSignInAtMillis: user.lastSignedInAtMillis, customClaimsJSON: user.customClaimsJSON,
      providers: user.providers.map { provider in
        LinkedProvider(
          providerID: provider.providerID, subject: provider.subject, email: provider.email,
          displayName: provider.displayName, photoURL: provider.photoURL, passkeyRecord: provider.passkeyRecord)
      },
      phoneFactors: user.phoneFactors.map { factor in
        ImportedPhoneFactor(
          factorID: factor.id, phoneNumber: factor.phoneNumber, displayName: factor.displayName,
          enrolledAtMillis: factor.enrolledAtMillis)
      },
      passkeyFactors: user.passkeyFactors.map { factor in
        ImportedPasskeyFactor(
          factorID: factor.id, passkeyRecord: factor.passkeyRecord, displayName: factor.displayName,
          enrolledAtMillis: factor.enrolledAtMillis)
      })
  }
}

/// The results of an import so far.
final class ImportTally {
  struct Refused {
    var row: Int
    var accountID: String
    /// Nil: this version does not know it.
    var reason: ErrorReason?
    var field: String
    var message: String

    var json: JSONValue {
      .object([
        JSONMember("row", .int(Int64(row))), JSONMember("account_id", .string(accountID)),
        JSONMember("reason", .word(reason)), JSONMember("field", .string(field)),
        JSONMember("message", .string(message)),
      ])
    }

    var line: String {
      let name = accountID.isEmpty ? "" : " (\(printable(accountID)))"
      let place = field.isEmpty ? "" : " \(printable(field)):"
      return "Row \(row)\(name): \(reason?.word ?? "unknown reason"):\(place) \(printable(message))"
    }
  }

  private(set) var imported = 0
  private(set) var unchanged = 0
  private(set) var errors: [Refused] = []
  /// The number of accepted rows without a password, provider or phone number.
  private var withoutMethod = 0
  /// The number of rows by ignored member.
  private var leftOut: [String: Int] = [:]
  private let isDryRun: Bool
  /// Values of earlier rows. In a dry run the server stores nothing, so the command detects duplicates across batches.
  private var seen: Set<String> = []

  init(isDryRun: Bool) { self.isDryRun = isDryRun }

  var rows: Int { imported + unchanged + errors.count }

  func take(_ answer: ImportAccountsResponse, _ batch: ImportBatch) {
    imported += Int(answer.imported)
    unchanged += Int(answer.unchanged)
    for error in answer.errors where batch.numbers.indices.contains(Int(error.row)) {
      refuse(batch.numbers[Int(error.row)], error.accountID, error.reason, error.field, error.message)
    }
    for (_, fields) in Dictionary(grouping: answer.leftOut, by: \.row) { leaveOut(Set(fields.map(\.field))) }
  }

  func noteMethods(_ user: FirebaseUser) {
    if user.passwordHash.isEmpty, user.providers.isEmpty, user.phoneNumber.isEmpty { withoutMethod += 1 }
  }

  func leaveOut(_ names: Set<String>) {
    for name in names { leftOut[name, default: 0] += 1 }
  }

  func refuse(_ row: Int, _ id: String, _ reason: ErrorReason?, _ field: String, _ message: String) {
    errors.append(Refused(row: row, accountID: id, reason: reason, field: field, message: message))
  }

  /// Returns the field whose value an earlier row has too. Returns nil if there is none or if this is not a dry run.
  func seenBefore(_ user: FirebaseUser) -> String? {
    guard isDryRun else { return nil }
    let names = [("account_id", user.id), ("email", user.email.lowercased()), ("phone_number", user.phoneNumber)]
      + user.providers.map { ("providers", $0.providerID + " " + $0.subject) }
    let given = names.filter { !$0.1.isEmpty }.map { (field: $0.0, name: $0.0 + " " + $0.1) }
    if let taken = given.first(where: { seen.contains($0.name) }) { return taken.field }
    seen.formUnion(given.map(\.name))
    return nil
  }

  func report(tookMillis: Int64, listsErrors: Bool, warning: String?) -> Report {
    let errors = errors.sorted { $0.row < $1.row }
    let rate = Int64(rows) * 1_000 / tookMillis
    let verb = isDryRun ? "Would import" : "Imported"
    var lines = [
      "\(verb) \(imported), unchanged \(unchanged), rejected \(errors.count); "
        + "\(tookMillis / 1_000).\(tookMillis % 1_000 / 100) s, \(rate) rows/s."
    ]
    let named = leftOut.sorted { $0.key < $1.key }
    if !named.isEmpty {
      let names = named.map { "\(printable($0.key)) (\($0.value) rows)" }
      lines.append("Ignored members: \(names.joined(separator: ", ")).")
    }
    if withoutMethod > 0 {
      lines.append("\(withoutMethod) rows have neither a password nor a provider nor a phone number to sign in with.")
    }
    if let warning { lines.append(warning) }
    if listsErrors { lines += errors.map { "  " + $0.line } }
    return Report(lines, [
      JSONMember("outcome", .string(isDryRun ? "dry_run" : "imported")), JSONMember("imported", .int(Int64(imported))),
      JSONMember("unchanged", .int(Int64(unchanged))), JSONMember("refused", .int(Int64(errors.count))),
      JSONMember("took_millis", .int(tookMillis)),
      JSONMember("left_out", .array(named.map { name, rows in
        .object([JSONMember("name", .string(name)), JSONMember("rows", .int(Int64(rows)))])
      })),
      JSONMember("rows_without_method", .int(Int64(withoutMethod))),
      JSONMember("warnings", .strings(warning.map { [$0] } ?? [])),
      JSONMember("errors", .array(listsErrors ? errors.map(\.json) : [])),
    ])
  }
}
