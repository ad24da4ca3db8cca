import ArgumentParser
import Client
import Import
import Reactor
import Tokens
import API

struct ImportCommand: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Import the accounts of another service, or of latchkey export.",
    discussion: """
      latchkey import users.json --hash-algo SCRYPT --hash-key-file signer.key --salt-separator Bw== \\
        --rounds 8 --mem-cost 14

      Reads the JSON and CSV files of Firebase's auth:export, user records of its Admin SDK as {"users": [...]}, and \
      the lines of latchkey export. Rows that cannot be imported are reported, and the others are imported. Members \
      that are left out are named at the end. Run it again after it was interrupted, or after you fixed rows: accounts \
      that exist as their row says stay unchanged. The exit code is 1 if a row was rejected.
      """)

  @Argument(help: "The file; - for standard input.")
  var file: String

  @Flag(name: .long, help: "Check every row, and write nothing.")
  var dryRun = false

  @Option(
    name: .long,
    help: ArgumentHelp("Write the refused rows to a file, one JSON object a line.", valueName: "file"))
  var errors: String?

  @Option(name: .long, help: "Rows that travel together, 1 to 1000.")
  var batch: UInt16 = 500

  @OptionGroup(title: "How the password hashes were made") var hash: HashOptions

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard 1...1_000 ~= batch else { throw ValidationError("--batch is 1 to 1000.") }
  }

  func perform(_ desk: Desk) throws -> Report {
    let options = ImportOptions(dryRun: dryRun, hash: try hash.wire())
    let source = try ExportFile(file, rowsMax: Int(batch))
    let tally = ImportTally(isDryRun: dryRun)
    let beganMillis = monotonicMillis()
    var sent = ImportBatch()
    try desk.calls(AdminRPC.importAccounts) { answer in
      if let answer {
        tally.take(answer, sent)
        if !common.json { showProgress("\(tally.rows) rows, \(tally.errors.count) refused") }
      }
      guard let next = try source.next(skipping: tally) else { return nil as ImportAccountsRequest? }
      sent = next
      return ImportAccountsRequest(options: options, accounts: next.accounts)
    }
    if !common.json { showProgress(nil) }
    try keepErrors(tally)
    let report = tally.report(tookMillis: max(1, monotonicMillis() - beganMillis), listsErrors: errors == nil)
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

/// In the words of Firebase's own importer.
struct HashOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "SCRYPT (Firebase's own), STANDARD_SCRYPT, BCRYPT, ARGON2, PBKDF_SHA1, PBKDF2_SHA256, or HMAC_ and plain SHA512, "
        + "SHA256, SHA1 and MD5.", valueName: "name"))
  var hashAlgo: String?

  @Option(
    name: .long,
    help: ArgumentHelp("The signer key, base64, in a file; - for standard input.", valueName: "file"))
  var hashKeyFile: String?

  @Option(name: .long, help: ArgumentHelp("Of SCRYPT, base64.", valueName: "bytes"))
  var saltSeparator = ""

  @Option(name: .long, help: "Rounds; iterations of ARGON2.")
  var rounds: Int32 = 0

  @Option(name: .long, help: "Of SCRYPT the power, of STANDARD_SCRYPT the number, of ARGON2 KiB.")
  var memCost: Int32 = 0

  @Option(name: .long, help: "Of STANDARD_SCRYPT and ARGON2.")
  var parallelization: Int32 = 0

  @Option(name: .long, help: "Of STANDARD_SCRYPT.")
  var blockSize: Int32 = 0

  @Option(name: .long, help: "Of STANDARD_SCRYPT: bytes of a hash.")
  var dkLen: Int32 = 0

  @Option(name: .long, help: ArgumentHelp("Of HMAC and SHA kinds: PASSWORD_FIRST or SALT_FIRST.", valueName: "order"))
  var hashInputOrder = ""

  func validate() throws {
    guard hashAlgo != nil || hashKeyFile == nil else {
      throw ValidationError("--hash-algo says what the key is for.")
    }
  }

  func wire() throws -> ImportHash? {
    guard let hashAlgo else { return nil }
    var hash = ImportHash(
      algorithm: hashAlgo, rounds: rounds, memoryCost: memCost, parallelization: parallelization,
      blockSize: blockSize, derivedKeyBytes: dkLen, inputOrder: hashInputOrder)
    if let hashKeyFile {
      let text = try SecretSource(option: "--hash-key-file", file: hashKeyFile).read()
      hash.key = try bytes(text, "--hash-key-file")
    }
    hash.saltSeparator = try bytes(saltSeparator, "--salt-separator")
    return hash
  }

  private func bytes(_ text: String, _ option: String) throws -> [UInt8] {
    guard let bytes = AnyBase64.decode(text.filter { !$0.isWhitespace }) else {
      throw Ending.usage(option, "it is no base64")
    }
    return bytes
  }
}
