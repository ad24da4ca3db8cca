import Client
import Tokens

extension Ending {
  /// Returns the ending for an invalid option. Its text names the option and never contains a secret.
  static func usage(_ option: String, _ why: String) -> Ending {
    let members = [JSONMember("option", .string(option)), JSONMember("message", .string(why))]
    return Ending(code: .usage, "\(option): \(why)", members)
  }

  static func unreachable(_ why: String) -> Ending {
    Ending(
      code: .unreachable, "The service cannot be reached: \(printable(why))",
      [JSONMember("code", .string("UNAVAILABLE")), JSONMember("message", .string(why))])
  }

  static func nobody(_ context: CommandContext) -> Ending {
    let profile = context.common.profileName
    return Ending(
      code: .nobody, "No user is signed in (profile \(profile)).",
      [JSONMember("message", .string("no user is signed in")), JSONMember("profile", .string(profile))],
      advice: ["Sign in: \(context.proposal("sign-in", "--email", "ADDRESS"))"])
  }

  static var unknownAnswer: Ending {
    let why = "the service returned a response that this version does not support"
    return Ending(code: .refused, why, [JSONMember("message", .string(why))])
  }

  /// Returns the ending for a failed call.
  static func refused(_ status: CallStatus, _ context: CommandContext) -> Ending {
    let isUnreachable = [.unavailable, .deadlineExceeded].contains(status.code) && status.reason.isEmpty
    if isUnreachable, status.code == .unavailable { return unreachable("\(context.common.address): \(status.message)") }
    let name = status.reason.isEmpty ? status.code.name : status.reason
    // Messages of the service begin with the reason.
    var lines = [printable(status.message.hasPrefix(name) ? status.message : "\(name): \(status.message)")]
    lines += status.fieldViolations.map { "  \(printable($0.field)) \(printable($0.description))" }
    let retryAfterMillis = status.retryAfterMillis.flatMap { $0 >= 0 ? $0 : nil }
    if let millis = retryAfterMillis { lines.append("  Retry after \((millis + 999) / 1_000) s.") }
    var members = [
      JSONMember("code", .string(status.code.name)), JSONMember("reason", .string(status.reason)),
      JSONMember("message", .string(status.message)),
    ]
    if !status.metadata.isEmpty {
      let pairs = status.metadata.sorted { $0.key < $1.key }.map { JSONMember($0.key, .string($0.value)) }
      members.append(JSONMember("metadata", .object(pairs)))
    }
    if !status.fieldViolations.isEmpty {
      members.append(JSONMember("fields", .strings(status.fieldViolations.map(\.field))))
    }
    if let millis = retryAfterMillis { members.append(JSONMember("retry_after_millis", .int(millis))) }
    return Ending(
      code: isUnreachable ? .unreachable : .refused, lines.joined(separator: "\n"), members,
      advice: advice(status.reason, context))
  }

  private init(code: Code, _ text: String, _ members: [JSONMember], advice: [String] = []) {
    self.init(code: code, report: Report([text] + advice, [JSONMember("error", .object(members))]))
  }

  /// Returns the next command to run for a reason, if the status text does not say it.
  private static func advice(_ reason: String, _ context: CommandContext) -> [String] {
    switch reason {
    case "REQUIRES_RECENT_LOGIN":
      [
        "Reauthenticate, then repeat the command: \(context.proposal("reauthenticate", "--email", "ADDRESS"))"
      ]
    case "INVALID_REFRESH_TOKEN", "INVALID_ID_TOKEN", "TOKEN_REVOKED", "TOKEN_EXPIRED":
      ["This session has ended. Sign in again: \(context.proposal("sign-in", "--email", "ADDRESS"))"]
    case "PENDING_CREDENTIAL_EXPIRED", "PENDING_CREDENTIAL_USED", "PENDING_CREDENTIAL_MISMATCH":
      ["Start again with the original credential."]
    case "LAST_SIGN_IN_METHOD":
      ["Link another sign-in method first: \(context.proposal("link", "--help"))"]
    case "CALLER_UNIDENTIFIED":
      ["Identify the caller with --api-key-file, or with --cert and --key."]
    default: []
    }
  }
}
