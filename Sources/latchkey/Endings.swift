import Client
import Tokens

extension Ending {
  /// An option that cannot be used. The text names it and never holds what a secret was.
  static func usage(_ option: String, _ why: String) -> Ending {
    let members = [JSONMember("option", .string(option)), JSONMember("message", .string(why))]
    return Ending(code: .usage, "\(option): \(why)", members)
  }

  static func unreachable(_ why: String) -> Ending {
    Ending(
      code: .unreachable, "The service cannot be reached: \(printable(why))",
      [JSONMember("code", .string("UNAVAILABLE")), JSONMember("message", .string(why))])
  }

  static func nobody(_ desk: Desk) -> Ending {
    let profile = desk.common.profileName
    return Ending(
      code: .nobody, "Nobody is signed in (profile \(profile)).",
      [JSONMember("message", .string("nobody is signed in")), JSONMember("profile", .string(profile))],
      advice: ["Sign in: \(desk.proposal("sign-in", "--email", "ADDRESS"))"])
  }

  static var unknownAnswer: Ending {
    let why = "the service answered with what this version does not know"
    return Ending(code: .refused, why, [JSONMember("message", .string(why))])
  }

  /// A call that did not succeed.
  static func refused(_ status: CallStatus, _ desk: Desk) -> Ending {
    let isUnreachable = [.unavailable, .deadlineExceeded].contains(status.code) && status.reason.isEmpty
    if isUnreachable, status.code == .unavailable { return unreachable("\(desk.common.address): \(status.message)") }
    let name = status.reason.isEmpty ? status.code.name : status.reason
    // The service begins its own texts with their reason.
    var lines = [printable(status.message.hasPrefix(name) ? status.message : "\(name): \(status.message)")]
    lines += status.fieldViolations.map { "  \(printable($0.field)) \(printable($0.description))" }
    if let millis = status.retryAfterMillis, millis >= 0 { lines.append("  Try again in \((millis + 999) / 1_000) s.") }
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
    if let millis = status.retryAfterMillis { members.append(JSONMember("retry_after_millis", .int(millis))) }
    return Ending(
      code: isUnreachable ? .unreachable : .refused, lines.joined(separator: "\n"), members,
      advice: advice(status.reason, desk))
  }

  private init(code: Code, _ text: String, _ members: [JSONMember], advice: [String] = []) {
    self.init(code: code, report: Report([text] + advice, [JSONMember("error", .object(members))]))
  }

  /// What cures a refusal, where that is not what its text says.
  private static func advice(_ reason: String, _ desk: Desk) -> [String] {
    switch reason {
    case "REQUIRES_RECENT_LOGIN":
      ["Prove once more who you are, and repeat the command: \(desk.proposal("reauthenticate", "--email", "ADDRESS"))"]
    case "INVALID_REFRESH_TOKEN", "INVALID_ID_TOKEN", "TOKEN_REVOKED", "TOKEN_EXPIRED":
      ["This session has ended. Sign in again: \(desk.proposal("sign-in", "--email", "ADDRESS"))"]
    case "PENDING_CREDENTIAL_EXPIRED", "PENDING_CREDENTIAL_USED", "PENDING_CREDENTIAL_MISMATCH":
      ["Begin again with the credential that was held."]
    case "LAST_SIGN_IN_METHOD":
      ["Link another way of signing in first: \(desk.proposal("link", "--help"))"]
    case "CALLER_UNIDENTIFIED":
      ["The service wants to know which service calls: give --api-key-file, or --cert and --key."]
    default: []
    }
  }
}
