import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

/// The options for a code of a second factor.
///
/// A TOTP code may be an argument, because it expires after a minute. Other codes must not.
struct CodeOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("Code from the authenticator app.", valueName: "digits"))
  var totpCode: String?

  @Option(
    name: .long,
    help: ArgumentHelp("File with the code from a text message; - for standard input.", valueName: "file"))
  var textCodeFile: String?

  @Option(
    name: .long, help: ArgumentHelp("File with a recovery code; - for standard input.", valueName: "file"))
  var recoveryCodeFile: String?

  func validate() throws {
    guard [totpCode, textCodeFile, recoveryCodeFile].compactMap(\.self).count <= 1 else {
      throw ValidationError("Give only one of --totp-code, --text-code-file and --recovery-code-file.")
    }
  }

  /// nil: none was given.
  func shown() throws -> (kind: FactorKind, code: String)? {
    if let totpCode { return (.totp, totpCode) }
    if let textCodeFile {
      return (.phone, try SecretSource(option: "--text-code-file", file: textCodeFile).read())
    }
    return try recoveryCodeFile.map {
      (.recoveryCode, try SecretSource(option: "--recovery-code-file", file: $0).read())
    }
  }
}

struct SecondFactor: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "second-factor", abstract: "Finish a sign-in, link or reauthenticate that requires a second factor.",
    discussion: """
      latchkey second-factor --totp-code 123456
      latchkey second-factor --recovery-code-file code.txt
      latchkey second-factor --send                    # a text message
      latchkey second-factor --text-code-file -
      """)

  @OptionGroup(title: "Code") var code: CodeOptions

  @Flag(name: .long, help: "Send the code to the account's phone.")
  var send = false

  @Option(name: .long, help: ArgumentHelp("ID of the factor, if the account has several of a kind.", valueName: "id"))
  var factor: String?

  @Option(name: .long, help: ArgumentHelp("Language of the message, such as de.", valueName: "language"))
  var locale = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    guard var waiting = try context.profile().secondFactor else {
      throw Ending.usage("second-factor", "the profile \(context.common.profileName) has no call that requires one")
    }
    let shown = try code.shown()
    guard send != (shown != nil) else {
      throw Ending.usage("second-factor", "give --totp-code, --recovery-code-file, --text-code-file or --send")
    }
    let kind = shown?.kind ?? .phone
    guard let chosen = waiting.factors.first(where: { $0.kind == kind && (factor == nil || $0.id == factor) }) else {
      throw Ending.usage(factor == nil ? "second-factor" : "--factor", "the account has no such factor")
    }
    guard let shown else {
      let started = try context.call(
        SecondFactorRPC.startSecondFactor,
        StartSecondFactorRequest(
          pendingToken: waiting.token, factorID: chosen.id, binding: try context.binding(), locale: locale))
      waiting.verificationID = started.verificationID
      try context.remember(\.secondFactor, waiting)
      return Report(
        ["The code was sent. Then: \(context.proposal("second-factor", "--text-code-file", "-"))"],
        [
          JSONMember("outcome", .string("sent")), JSONMember("expires_at", .moment(started.expiresAtMillis)),
        ])
    }
    return try finish(context, waiting, chosen.id, shown)
  }

  private func finish(
    _ context: CommandContext, _ waiting: Profile.WaitingFactor, _ factorID: String,
    _ shown: (kind: FactorKind, code: String)
  ) throws -> Report {
    let answer = try context.call(
      SecondFactorRPC.finishSecondFactor,
      FinishSecondFactorRequest(
        pendingToken: waiting.token, factorID: factorID,
        verificationID: shown.kind == .phone ? waiting.verificationID : "", code: shown.code,
        binding: try context.binding()))
    try context.remember(\.secondFactor, nil)
    switch answer.outcome {
    case .session(let session):
      return try context.opened(session, answer.alreadyLinked ? "Already linked" : "Done", completed: true)
    case .accountExists(let exists): throw try context.accountExists(exists)
    case .credentialInUse(let inUse): throw try context.credentialInUse(inUse)
    case nil: throw Ending.unknownAnswer
    }
  }
}

struct Enroll: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add a second factor to your account, or replace its recovery codes.",
    discussion: """
      Without a code, the command starts the enrolment. With a code of the new factor, it finishes the enrolment:

        latchkey enroll totp
        latchkey enroll totp --totp-code 123456
        latchkey enroll phone --phone-number +441632960961
        latchkey enroll phone --text-code-file -
        latchkey enroll recovery-codes

      With the first factor you receive recovery codes. They are shown once; store them separately from the factor.
      """)

  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case totp
    case phone
    case recoveryCodes = "recovery-codes"

    var onTheWire: FactorKind {
      switch self {
      case .totp: .totp
      case .phone: .phone
      case .recoveryCodes: .recoveryCode
      }
    }
  }

  @Argument(help: "Kind of factor: totp, phone or recovery-codes.")
  var kind: Kind

  @Option(name: .long, help: ArgumentHelp("Phone number with + and country code.", valueName: "number"))
  var phoneNumber = ""

  @Option(name: .long, help: "Name of the factor.")
  var displayName = ""

  @Option(name: .long, help: ArgumentHelp("Language of the message, such as de.", valueName: "language"))
  var locale = ""

  @OptionGroup(title: "Code") var code: CodeOptions

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let session = try context.session()
    if let shown = try code.shown() {
      guard let begun = try context.profile().enrollment, shown.kind == kind.onTheWire else {
        throw Ending.usage("enroll", "no enrolment of this kind was begun: leave the code away")
      }
      return try finish(context, session, begun.token, shown.code)
    }
    let started = try context.call(
      SecondFactorRPC.startEnrollment,
      StartEnrollmentRequest(
        idToken: session.idToken, kind: kind.onTheWire, phoneNumber: phoneNumber, displayName: displayName,
        locale: locale))
    guard kind != .recoveryCodes else { return try finish(context, session, started.enrollmentID, "") }
    try context.remember(
      \.enrollment, Profile.Pending(token: started.enrollmentID, expiresAtMillis: started.expiresAtMillis))
    var lines = ["A code was sent to the phone. Then:", ""]
    if kind == .totp {
      lines = [
        "Add this secret to your authenticator app:", "", "  " + printable(started.totpSecret),
        "  " + printable(started.totpURI), "", "Then enter the code that the app shows:", "",
      ]
    }
    let option = kind == .totp ? ["--totp-code", "DIGITS"] : ["--text-code-file", "-"]
    lines.append("  " + context.proposal("enroll", kind.rawValue, option[0], option[1]))
    return Report(
      lines,
      [
        JSONMember("outcome", .string("started")), JSONMember("totp_secret", .string(started.totpSecret)),
        JSONMember("totp_uri", .string(started.totpURI)), JSONMember("expires_at", .moment(started.expiresAtMillis)),
      ])
  }

  private func finish(
    _ context: CommandContext, _ session: Profile.SignedIn, _ enrollmentID: String, _ code: String
  ) throws -> Report {
    let answer = try context.call(
      SecondFactorRPC.finishEnrollment,
      FinishEnrollmentRequest(idToken: session.idToken, enrollmentID: enrollmentID, code: code))
    var report = try context.opened(answer.session, "Enrolled")
    try context.remember(\.enrollment, nil)
    if !answer.recoveryCodes.isEmpty {
      report.lines += ["", "Recovery codes, each valid once. They are not shown again:", ""]
      report.lines += answer.recoveryCodes.map { "  " + printable($0) }
    }
    report.members.append(JSONMember("recovery_codes", .strings(answer.recoveryCodes)))
    return report
  }
}

struct Withdraw: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Remove a second factor from your account.",
    discussion: """
      latchkey whoami                                  # shows factor IDs
      latchkey withdraw ID

      Removing the last factor also removes the recovery codes.
      """)

  @Argument(help: "Factor ID.")
  var factor: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      SecondFactorRPC.withdraw, WithdrawRequest(idToken: try context.session().idToken, factorID: factor))
    return try context.opened(answer.session, "Withdrawn")
  }
}

extension CommandContext {
  /// Reports that the call requires a second factor, and stores the pending token.
  func secondFactor(_ required: SecondFactorRequired) throws -> Ending {
    try remember(
      \.secondFactor,
      Profile.WaitingFactor(
        token: required.pendingToken, expiresAtMillis: required.expiresAtMillis ?? 0,
        factors: required.hints.compactMap { hint in
          hint.kind.map { Profile.WaitingFactor.Factor(id: hint.factorID, kind: $0) }
        }))
    var lines = ["A second factor is wanted. Nothing was changed yet; show one:", ""]
    for kind in FactorKind.allCases where required.hints.contains(where: { $0.kind == kind }) {
      switch kind {
      case .unspecified: break
      case .totp: lines.append("  " + proposal("second-factor", "--totp-code", "DIGITS"))
      case .phone: lines.append("  " + proposal("second-factor", "--send"))
      case .recoveryCode: lines.append("  " + proposal("second-factor", "--recovery-code-file", "-"))
      case .passkey: lines.append("  A passkey, in a browser.")
      }
    }
    lines += ["", "Pending until \(required.expiresAtMillis.map(rfc3339) ?? "it expires")."]
    return Ending(
      code: .unfinished,
      report: Report(
        lines,
        [
          JSONMember("outcome", .string("second_factor_required")),
          JSONMember("kinds", .array(required.hints.map { .lowercaseWord($0.kind) })),
          JSONMember("expires_at", .moment(required.expiresAtMillis)),
        ]))
  }
}

extension SecondFactorHint {
  var json: JSONValue {
    .object(
      [
        JSONMember("factor_id", .string(factorID)), JSONMember("kind", .lowercaseWord(kind)),
        JSONMember("display_name", .string(displayName)),
        JSONMember("masked_phone_number", .string(maskedPhoneNumber)),
        JSONMember("enrolled_at", .moment(enrolledAtMillis)),
      ] + (passkeyRecord.isEmpty ? [] : [JSONMember("passkey_record", .string(passkeyRecord))]))
  }
}
