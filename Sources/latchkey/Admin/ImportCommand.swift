import ArgumentParser
import Client
import Import
import Reactor
import Tokens
import API
import Protobuf

struct ImportCommand: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Import accounts from Firebase or from latchkey export.",
    discussion: """
      latchkey import users.json --hash-algo SCRYPT --hash-key-file signer.key \\
        --salt-separator Bw== --rounds 8 --mem-cost 14
      latchkey import users.jsonl --hash-algo DJANGO

      Reads JSON and CSV files of Firebase's auth:export, user records of its Admin SDK as {"users": [...]}, and the \
      lines of latchkey export. Reports rejected rows and imports the others. Lists ignored members at the end. To \
      continue after an interruption, or after fixing rows, run the command again: accounts that match their row stay \
      unchanged. The exit code is 1 if a row was rejected.
      """)

  @Argument(help: "File to import; - for standard input.")
  var file: String

  @Flag(name: .long, help: "Check every row without importing any.")
  var dryRun = false

  @Option(
    name: .long,
    help: ArgumentHelp("Write rejected rows to a file, one JSON object for each line.", valueName: "file"))
  var errors: String?

  @Option(name: .long, help: "Rows in each message, 1 to 1000.")
  var batch: UInt16 = 500

  @OptionGroup(title: "Password hashes") var hash: HashOptions

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard 1...1_000 ~= batch else { throw ValidationError("--batch must be 1 to 1000.") }
  }

  func perform(_ context: CommandContext) throws -> Report {
    let options = ImportOptions(dryRun: dryRun, hash: try hash.wire())
    let source = try ExportFile(file, rowsMax: Int(batch))
    let tally = ImportTally(isDryRun: dryRun)
    let beganMillis = monotonicMillis()
    var sent = ImportBatch()
    try context.calls(AdminRPC.importAccounts) { answer in
      if let answer {
        tally.take(answer, sent)
        if !common.json { showProgress("\(tally.rows) rows, \(tally.errors.count) rejected") }
      }
      guard let next = try source.next(skipping: tally) else { return nil as ImportAccountsRequest? }
      sent = next
      return ImportAccountsRequest(options: options, accounts: next.accounts)
    }
    if !common.json { showProgress(nil) }
    try keepErrors(tally)
    let report = tally.report(
      tookMillis: max(1, monotonicMillis() - beganMillis), listsErrors: errors == nil, warning: source.warning)
    guard tally.errors.isEmpty else { throw Ending(code: .refused, report: report) }
    return report
  }

  private func keepErrors(_ tally: ImportTally) throws {
    guard let errors else { return }
    let lines = tally.errors.map { error in
      var writer = JSONWriter()
      writer.value(error.json)
      return writer.text + "\n"
    }
    do {
      try PrivateFile(errors).write(Array(lines.joined().utf8))
    } catch {
      throw Ending.usage("--errors", "\(error)")
    }
  }
}

/// Parameters of the password hashes, named as in Firebase's import command.
struct HashOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Hash algorithm: SCRYPT (Firebase's own), STANDARD_SCRYPT, BCRYPT, ARGON2, PBKDF_SHA1, PBKDF2_SHA256, "
        + "PBKDF2_SHA512, PHPASS, DJANGO, WERKZEUG, or SHA512, SHA256, SHA1 and MD5, plain or with HMAC_.",
      valueName: "name"))
  var hashAlgo: String?

  @Option(
    name: .long,
    help: ArgumentHelp("File with the signer key in base64; - for standard input.", valueName: "file"))
  var hashKeyFile: String?

  @Option(name: .long, help: ArgumentHelp("Salt separator in base64 (SCRYPT).", valueName: "bytes"))
  var saltSeparator = ""

  @Option(name: .long, help: "Number of rounds, or of iterations (ARGON2).")
  var rounds: Int32 = 0

  @Option(name: .long, help: "Memory cost: exponent of N (SCRYPT), N (STANDARD_SCRYPT), or KiB (ARGON2).")
  var memCost: Int32 = 0

  @Option(name: .long, help: "Parallelization (STANDARD_SCRYPT, ARGON2).")
  var parallelization: Int32 = 0

  @Option(name: .long, help: "Block size (STANDARD_SCRYPT).")
  var blockSize: Int32 = 0

  @Option(name: .long, help: "Length of a hash in bytes (STANDARD_SCRYPT).")
  var dkLen: Int32 = 0

  @Option(name: .long, help: ArgumentHelp("PASSWORD_FIRST or SALT_FIRST (HMAC and SHA kinds).", valueName: "order"))
  var hashInputOrder = ""

  func validate() throws {
    guard hashAlgo != nil || hashKeyFile == nil else {
      throw ValidationError("Give --hash-algo with --hash-key-file.")
    }
  }

  func wire() throws -> ImportHash? {
    guard let hashAlgo else { return nil }
    guard let algorithm = HashAlgorithm(name: hashAlgo) else {
      throw Ending.usage("--hash-algo", "\(hashAlgo) is not one of the algorithms that --help lists")
    }
    guard let order = hashInputOrder.isEmpty ? .unspecified : HashInputOrder(name: hashInputOrder) else {
      throw Ending.usage("--hash-input-order", "give PASSWORD_FIRST or SALT_FIRST")
    }
    var hash = ImportHash(
      algorithm: algorithm, rounds: rounds, memoryCost: memCost, parallelization: parallelization,
      blockSize: blockSize, derivedKeyBytes: dkLen, inputOrder: order)
    if let hashKeyFile {
      let text = try SecretSource(option: "--hash-key-file", file: hashKeyFile).read()
      hash.key = try bytes(text, "--hash-key-file")
    }
    hash.saltSeparator = try bytes(saltSeparator, "--salt-separator")
    return hash
  }

  private func bytes(_ text: String, _ option: String) throws -> [UInt8] {
    guard let bytes = AnyBase64.decode(text.filter { !$0.isWhitespace }) else {
      throw Ending.usage(option, "the value is not base64")
    }
    return bytes
  }
}
