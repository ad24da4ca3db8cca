import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

struct Refresh: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Exchange the refresh token for new tokens.",
    discussion: """
      latchkey refresh

      Other commands do this automatically when the ID token has expired.
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let (fresh, session) = try context.refreshed()
    let until = rfc3339(fresh.idTokenExpiresAtMillis)
    let lines = ["Refreshed; the ID token is valid until \(until)."] + context.secondFactorDuty(session)
    return Report(lines, [
      JSONMember("outcome", .string("session")), JSONMember("account_id", .string(fresh.accountID)),
      JSONMember("id_token_expires_at", .moment(fresh.idTokenExpiresAtMillis)),
      JSONMember("is_restricted", .bool(session.isRestricted)),
      JSONMember("second_factor_due_at", .moment(session.secondFactorDueAtMillis)),
    ])
  }
}

struct SignOut: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-out", abstract: "End the session, and delete it from the session file.",
    discussion: """
      latchkey sign-out
      latchkey sign-out --session ID   # of another device; see sessions
      latchkey sign-out --all          # on all devices
      """)

  @Flag(name: .long, help: "End every session of the account, on all devices.")
  var all = false

  @Option(name: .long, help: ArgumentHelp("End only this session of the account.", valueName: "id"))
  var session: String?

  @Flag(name: .long, help: "Only delete the stored session. The service keeps the session open.")
  var local = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard [all, local, session != nil].count(where: { $0 }) <= 1 else {
      throw ValidationError("Give only one of --all, --session and --local.")
    }
  }

  func perform(_ context: CommandContext) throws -> Report {
    _ = try context.signedIn()
    return try context.exclusively {
      if all { return try endAll(context) }
      if let session { return try end(session, context) }
      let stored = try context.signedIn()
      if !local { _ = try context.call(SessionRPC.signOut, SignOutRequest(refreshToken: stored.refreshToken)) }
      try context.keep(nil)
      return Report(["Signed out."], [JSONMember("outcome", .string("signed_out"))])
    }
  }

  private func endAll(_ context: CommandContext) throws -> Report {
    let answer = try context.call(SessionRPC.revokeAll, RevokeAllRequest(idToken: try context.session().idToken))
    try context.keep(nil)
    return Report(["Signed out on all devices; ended sessions: \(answer.closed)."], [
      JSONMember("outcome", .string("signed_out")), JSONMember("closed", .int(Int64(answer.closed))),
    ])
  }

  private func end(_ id: String, _ context: CommandContext) throws -> Report {
    let idToken = try context.session().idToken
    let answer = try context.call(SessionRPC.endSession, EndSessionRequest(idToken: idToken, sessionID: id))
    // The ID may be that of the stored session. The service has just verified the token.
    if (try? JWS(idToken).claims())?["sid"]?.string == id { try context.keep(nil) }
    return answer.report("signed_out", id)
  }
}

extension EndSessionResponse {
  func report(_ outcome: String, _ id: String) -> Report {
    Report([ended ? "Ended: session \(printable(id))." : "No open session: \(printable(id))."], [
      JSONMember("outcome", .string(outcome)), JSONMember("closed", .int(ended ? 1 : 0)),
    ])
  }
}

/// The command `sessions`. Its name is plural, because `Session` is a message.
struct Sessions: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the open sessions of the account, the newest first.",
    discussion: """
      latchkey sessions
      latchkey sign-out --session ID                   # if you do not recognise one
      latchkey sessions --account ACCOUNT_ID --ended   # for administrators
      """)

  @Option(name: .long, help: "Account ID. The caller then needs the right to AdminService.")
  var account: String?
  @Flag(name: .long, help: "Include sessions that have ended. Only with --account.")
  var ended = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard !ended || account != nil else { throw ValidationError("--ended needs --account.") }
  }

  func perform(_ context: CommandContext) throws -> Report {
    if let account {
      let request = AdminServiceListSessionsRequest(accountID: account, includeEnded: ended)
      let answer = try context.call(AdminRPC.listSessions, request)
      let lines = answer.sessions.isEmpty ? ["No sessions."] : answer.sessions.map(\.line)
      return Report(lines, [JSONMember("sessions", .array(answer.sessions.map(\.json)))])
    }
    let answer = try context.call(
      SessionRPC.listSessions, ListSessionsRequest(idToken: try context.session().idToken))
    return Report(answer.sessions.map(\.line), [JSONMember("sessions", .array(answer.sessions.map(\.json)))])
  }
}

extension SessionInfo {
  fileprivate var line: String {
    var parts = ["\(current ? "*" : " ") \(signedInAtMillis.map(rfc3339) ?? "")", printable(signInProvider)]
    if let last = lastUsedAtMillis { parts.append("used \(rfc3339(last))") }
    let client = client ?? ClientContext()
    parts += [client.ipAddress, client.userAgent, client.deviceID].filter { !$0.isEmpty }.map(printable)
    parts.append("id \(printable(sessionID))")
    return parts.joined(separator: ", ")
  }

  fileprivate var json: JSONValue {
    let client = client ?? ClientContext()
    return .object([
      JSONMember("session_id", .string(sessionID)), JSONMember("sign_in_provider", .string(signInProvider)),
      JSONMember("signed_in_at", .moment(signedInAtMillis)), JSONMember("last_used_at", .moment(lastUsedAtMillis)),
      JSONMember("ip_address", .string(client.ipAddress)), JSONMember("user_agent", .string(client.userAgent)),
      JSONMember("device_id", .string(client.deviceID)), JSONMember("current", .bool(current)),
    ])
  }
}

struct WhoAmI: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "whoami", abstract: "Show the signed-in account.",
    discussion: """
      latchkey whoami
      latchkey whoami --json                           # for programs
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(
      AccountRPC.get, GetRequest(idToken: try context.session().idToken))
    guard let account = answer.account else { throw Ending.unknownAnswer }
    var lines = ["Account \(printable(account.accountID))\(account.anonymous ? ", anonymous" : "")"]
    if !account.email.isEmpty {
      lines.append("  Email: \(printable(account.email)), \(account.emailVerified ? "verified" : "not verified")")
    }
    if !account.displayName.isEmpty { lines.append("  Name: \(printable(account.displayName))") }
    lines.append("  Sign-in methods: \(context.ways(account))")
    for factor in account.secondFactors {
      let name = [factor.displayName, factor.maskedPhoneNumber].filter { !$0.isEmpty }.map { " (\(printable($0)))" }
      let kind = factor.kind?.word.lowercased() ?? "of an unknown kind"
      lines.append("  Second factor: \(kind)\(name.joined()), id \(printable(factor.factorID))")
    }
    if let created = account.createdAtMillis { lines.append("  Created: \(rfc3339(created))") }
    if let last = account.lastSignInAtMillis { lines.append("  Last sign-in: \(rfc3339(last))") }
    return Report(lines, [JSONMember("account", account.json)])
  }
}

struct Token: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print a valid ID token for other programs, refreshed if necessary.",
    discussion: """
      curl -H "Authorization: Bearer $(latchkey token)" https://service.example.com/
      latchkey token --session-cookie 3600     # an hour; needs a recent sign-in
      """)

  @Option(
    name: .long,
    help: ArgumentHelp("Print a session cookie with this lifetime instead: 300 to 1209600.", valueName: "seconds"))
  var sessionCookie: Int32?

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let session = try context.session()
    if let sessionCookie {
      let request = CreateSessionCookieRequest(idToken: session.idToken, validForSeconds: sessionCookie)
      let answer = try context.call(SessionRPC.createSessionCookie, request)
      return Report([answer.sessionCookie], [
        JSONMember("session_cookie", .string(answer.sessionCookie)),
        JSONMember("expires_at", .moment(answer.expiresAtMillis)), JSONMember("session_id", .string(answer.sessionID)),
      ])
    }
    return Report([session.idToken], [
      JSONMember("id_token", .string(session.idToken)),
      JSONMember("id_token_expires_at", .moment(session.idTokenExpiresAtMillis)),
    ])
  }
}

struct Delete: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Delete the signed-in account permanently.",
    discussion: """
      latchkey reauthenticate --email alice@example.com
      latchkey delete --yes

      The service requires a recent sign-in.
      """)

  @OptionGroup var confirmation: DeletionConfirmation

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    _ = try context.signedIn()
    let session = try context.exclusively {
      let session = try context.session()
      _ = try context.call(AccountRPC.delete, DeleteRequest(idToken: session.idToken))
      try context.keep(nil)
      return session
    }
    return Report(["Deleted: account \(printable(session.accountID))."], [
      JSONMember("outcome", .string("deleted")), JSONMember("account_id", .string(session.accountID)),
    ])
  }
}

struct Health: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check the health of the service.",
    discussion: """
      latchkey health
      latchkey health --service latchkey.v1.AuthService

      Exit codes: 0 the service is serving; 1 it is not serving; 3 it does not respond.
      """)

  @Option(name: .long, help: ArgumentHelp("gRPC service to check, such as latchkey.v1.AuthService.", valueName: "name"))
  var service = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let name = switch try context.health(service) {
    case .serving: "SERVING"
    case .notServing: "NOT_SERVING"
    case .serviceUnknown: "SERVICE_UNKNOWN"
    case .unknown: "UNKNOWN"
    }
    let report = Report(["\(context.common.address): \(name)"], [JSONMember("status", .string(name))])
    guard name == "SERVING" else { throw Ending(code: .refused, report: report) }
    return report
  }
}
