import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

/// A code of a second factor. That of an authenticator program is worth nothing a minute later, and may stand among the
/// arguments; the others may not.
struct CodeOptions: ParsableArguments {
  @Option(name: .long, help: ArgumentHelp("What the authenticator program shows.", valueName: "digits"))
  var totpCode: String?

  @Option(
    name: .long,
    help: ArgumentHelp("Where the code of a text message stands; - is standard input.", valueName: "file"))
  var textCodeFile: String?

  @Option(
    name: .long, help: ArgumentHelp("Where a recovery code stands; - is standard input.", valueName: "file"))
  var recoveryCodeFile: String?

  func validate() throws {
    guard [totpCode, textCodeFile, recoveryCodeFile].compactMap(\.self).count <= 1 else {
      throw ValidationError("--totp-code, --text-code-file and --recovery-code-file are three ways: give one.")
    }
  }

  /// nil: none was given.
  func shown() throws -> (kind: String, code: String)? {
    if let totpCode { return ("totp", totpCode) }
    if let textCodeFile {
      return ("phone", try SecretSource(option: "--text-code-file", file: textCodeFile).read())
    }
    return try recoveryCodeFile.map {
      ("recovery_code", try SecretSource(option: "--recovery-code-file", file: $0).read())
    }
  }
}

struct SecondFactor: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "second-factor", abstract: "Finish what wanted a second factor: sign-in, link or reauthenticate.",
    discussion: """
      latchkey second-factor --totp-code 123456
      latchkey second-factor --recovery-code-file code.txt
      latchkey second-factor --send                    # a text message
      latchkey second-factor --text-code-file -
      """)

  @OptionGroup(title: "Code") var code: CodeOptions

  @Flag(name: .long, help: "Send the code to the account's telephone.")
  var send = false

  @Option(name: .long, help: ArgumentHelp("Which factor, where there are several of a kind.", valueName: "id"))
  var factor: String?

  @Option(name: .long, help: ArgumentHelp("Of the message, such as de.", valueName: "language"))
  var locale = ""

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    guard var waiting = try desk.profile().secondFactor else {
      throw Ending.usage("second-factor", "nothing waits for one in the profile \(desk.common.profileName)")
    }
    let shown = try code.shown()
    guard send != (shown != nil) else {
      throw Ending.usage("second-factor", "give --totp-code, --recovery-code-file, --text-code-file or --send")
    }
    let kind = shown?.kind ?? "phone"
    guard let chosen = waiting.factors.first(where: { $0.kind == kind && (factor == nil || $0.id == factor) }) else {
      throw Ending.usage(factor == nil ? "second-factor" : "--factor", "the account has no such factor")
    }
    guard let shown else {
      let started = try desk.call(
        SecondFactorRPC.startSecondFactor,
        StartSecondFactorRequest(
          pendingToken: waiting.token, factorID: chosen.id, binding: try desk.binding(), locale: locale))
      waiting.verificationID = started.verificationID
      try desk.remember(\.secondFactor, waiting)
      return Report(["Sent: \(desk.proposal("second-factor", "--text-code-file", "-"))"], [
        JSONMember("outcome", .string("sent")), JSONMember("expires_at", .moment(started.expiresAtMillis)),
      ])
    }
    return try finish(desk, waiting, chosen.id, shown)
  }

  private func finish(
    _ desk: Desk, _ waiting: Profile.WaitingFactor, _ factorID: String, _ shown: (kind: String, code: String)
  ) throws -> Report {
    let answer = try desk.call(
      SecondFactorRPC.finishSecondFactor,
      FinishSecondFactorRequest(
        pendingToken: waiting.token, factorID: factorID,
        verificationID: shown.kind == "phone" ? waiting.verificationID : "", code: shown.code,
        binding: try desk.binding()))
    try desk.remember(\.secondFactor, nil)
    switch answer.outcome {
    case .session(let session):
      return try desk.opened(session, answer.alreadyLinked ? "Was linked before" : "Done", completed: true)
    case .accountExists(let exists): throw try desk.accountExists(exists)
    case .credentialInUse(let inUse): throw try desk.credentialInUse(inUse)
    case nil: throw Ending.unknownAnswer
    }
  }
}

struct Enroll: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add a second factor to your account, or replace its recovery codes.",
    discussion: """
      Without a code the enrolment begins; with the code that the new factor shows, it ends:

        latchkey enroll totp
        latchkey enroll totp --totp-code 123456
        latchkey enroll phone --phone-number +441632960961
        latchkey enroll phone --text-code-file -
        latchkey enroll recovery-codes

      The first factor brings recovery codes. They are shown once: keep them apart from the factor.
      """)

  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case totp
    case phone
    case recoveryCodes = "recovery-codes"

    var name: String { self == .recoveryCodes ? "recovery_code" : rawValue }
  }

  @Argument(help: "totp, phone or recovery-codes.")
  var kind: Kind

  @Option(name: .long, help: ArgumentHelp("Of a telephone, with + and its country code.", valueName: "number"))
  var phoneNumber = ""

  @Option(name: .long, help: "What you call the factor.")
  var displayName = ""

  @Option(name: .long, help: ArgumentHelp("Of the message, such as de.", valueName: "language"))
  var locale = ""

  @OptionGroup(title: "Code") var code: CodeOptions

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let session = try desk.session()
    if let shown = try code.shown() {
      guard let begun = try desk.profile().enrollment, shown.kind == kind.name else {
        throw Ending.usage("enroll", "no enrolment of this kind was begun: leave the code away")
      }
      return try finish(desk, session, begun.token, shown.code)
    }
    let started = try desk.call(
      SecondFactorRPC.startEnrollment,
      StartEnrollmentRequest(
        idToken: session.idToken, kind: kind.name, phoneNumber: phoneNumber, displayName: displayName, locale: locale))
    guard kind != .recoveryCodes else { return try finish(desk, session, started.enrollmentID, "") }
    try desk.remember(
      \.enrollment, Profile.Pending(token: started.enrollmentID, expiresAtMillis: started.expiresAtMillis))
    var lines = ["A code was sent to it. Then:", ""]
    if kind == .totp {
      lines = [
        "Give this to your authenticator program:", "", "  " + printable(started.totpSecret),
        "  " + printable(started.totpURI), "", "and then the code that it shows:", "",
      ]
    }
    let option = kind == .totp ? ["--totp-code", "DIGITS"] : ["--text-code-file", "-"]
    lines.append("  " + desk.proposal("enroll", kind.rawValue, option[0], option[1]))
    return Report(lines, [
      JSONMember("outcome", .string("started")), JSONMember("totp_secret", .string(started.totpSecret)),
      JSONMember("totp_uri", .string(started.totpURI)), JSONMember("expires_at", .moment(started.expiresAtMillis)),
    ])
  }

  private func finish(
    _ desk: Desk, _ session: Profile.SignedIn, _ enrollmentID: String, _ code: String
  ) throws -> Report {
    let answer = try desk.call(
      SecondFactorRPC.finishEnrollment,
      FinishEnrollmentRequest(idToken: session.idToken, enrollmentID: enrollmentID, code: code))
    var report = try desk.opened(answer.session, "Enrolled")
    try desk.remember(\.enrollment, nil)
    if !answer.recoveryCodes.isEmpty {
      report.lines += ["", "Recovery codes, each good once, shown only now:", ""]
      report.lines += answer.recoveryCodes.map { "  " + printable($0) }
    }
    report.members.append(JSONMember("recovery_codes", .strings(answer.recoveryCodes)))
    return report
  }
}

struct Withdraw: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Remove a second factor from your account.",
    discussion: """
      latchkey whoami                                  # names them
      latchkey withdraw ID

      With the last one the recovery codes go.
      """)

  @Argument(help: "The factor's id.")
  var factor: String

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      SecondFactorRPC.withdraw, WithdrawRequest(idToken: try desk.session().idToken, factorID: factor))
    return try desk.opened(answer.session, "Withdrawn")
  }
}

extension Desk {
  /// The call is held by the service until the factor was shown; its handle is remembered here.
  func secondFactor(_ required: SecondFactorRequired) throws -> Ending {
    try remember(
      \.secondFactor,
      Profile.WaitingFactor(
        token: required.pendingToken, expiresAtMillis: required.expiresAtMillis ?? 0,
        factors: required.hints.map { Profile.WaitingFactor.Factor(id: $0.factorID, kind: $0.kind) }))
    var lines = ["A second factor is wanted. Nothing was changed yet; show one:", ""]
    for kind in ["totp", "phone", "recovery_code"] where required.hints.contains(where: { $0.kind == kind }) {
      switch kind {
      case "totp": lines.append("  " + proposal("second-factor", "--totp-code", "DIGITS"))
      case "phone": lines.append("  " + proposal("second-factor", "--send"))
      default: lines.append("  " + proposal("second-factor", "--recovery-code-file", "-"))
      }
    }
    lines += ["", "Held until \(required.expiresAtMillis.map(rfc3339) ?? "the service forgets it")."]
    return Ending(code: .unfinished, report: Report(lines, [
      JSONMember("outcome", .string("second_factor_required")),
      JSONMember("kinds", .strings(required.hints.map(\.kind))),
      JSONMember("expires_at", .moment(required.expiresAtMillis)),
    ]))
  }
}

extension SecondFactorHint {
  var json: JSONValue {
    .object([
      JSONMember("factor_id", .string(factorID)), JSONMember("kind", .string(kind)),
      JSONMember("display_name", .string(displayName)),
      JSONMember("masked_phone_number", .string(maskedPhoneNumber)),
      JSONMember("enrolled_at", .moment(enrolledAtMillis)),
    ])
  }
}
