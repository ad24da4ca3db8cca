import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

struct Refresh: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Exchange the refresh token for fresh tokens.",
    discussion: """
      latchkey refresh

      Other commands do this by themselves once the ID token has expired.
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let fresh = try desk.refreshed()
    let until = rfc3339(fresh.idTokenExpiresAtMillis)
    return Report(["Fresh tokens; the ID token is good until \(until)."], [
      JSONMember("outcome", .string("session")), JSONMember("account_id", .string(fresh.accountID)),
      JSONMember("id_token_expires_at", .moment(fresh.idTokenExpiresAtMillis)),
    ])
  }
}

struct SignOut: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign-out", abstract: "End the session, and forget it.",
    discussion: "latchkey sign-out --all ends the sessions of all devices: for who has lost one.")

  @Flag(name: .long, help: "End every session of the account, on all devices.")
  var all = false

  @Flag(name: .long, help: "Only forget the session here: the service keeps it open.")
  var local = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard !(all && local) else { throw ValidationError("--all and --local do not go together.") }
  }

  func perform(_ desk: Desk) throws -> Report {
    if all {
      let answer = try desk.call(
        SessionRPC.revokeAll, RevokeAllRequest(idToken: try desk.session().idToken))
      try desk.keep(nil)
      return Report(["Signed out everywhere; sessions that were open: \(answer.closed)."], [
        JSONMember("outcome", .string("signed_out")), JSONMember("closed", .int(Int64(answer.closed))),
      ])
    }
    _ = try desk.signedIn()
    try desk.exclusively {
      let session = try desk.signedIn()
      if !local {
        _ = try desk.call(
          SessionRPC.signOut, SignOutRequest(refreshToken: session.refreshToken))
      }
      try desk.keep(nil)
    }
    return Report(["Signed out."], [JSONMember("outcome", .string("signed_out"))])
  }
}

/// Named in the plural, because `Session` is a message.
struct Sessions: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "List the open sessions of the account, the latest first.",
    discussion: """
      latchkey sessions
      latchkey sign-out --all                          # if you do not know one
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      SessionRPC.listSessions, ListSessionsRequest(idToken: try desk.session().idToken))
    return Report(answer.sessions.map(\.line), [JSONMember("sessions", .array(answer.sessions.map(\.json)))])
  }
}

extension SessionInfo {
  fileprivate var line: String {
    var parts = ["\(current ? "*" : " ") \(signedInAtMillis.map(rfc3339) ?? "")", printable(signInProvider)]
    if let last = lastUsedAtMillis { parts.append("used \(rfc3339(last))") }
    let client = client ?? ClientContext()
    parts += [client.ipAddress, client.userAgent, client.deviceID].filter { !$0.isEmpty }.map(printable)
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

struct WhoAmI: DeskCommand {
  static let configuration = CommandConfiguration(
    commandName: "whoami", abstract: "Show the account that is signed in.",
    discussion: """
      latchkey whoami
      latchkey whoami --json                           # for programs
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let answer = try desk.call(
      AccountRPC.get, GetRequest(idToken: try desk.session().idToken))
    guard let account = answer.account else { throw Ending.unknownAnswer }
    var lines = ["Account \(printable(account.accountID))\(account.anonymous ? ", anonymous" : "")"]
    if !account.email.isEmpty {
      lines.append("  Address: \(printable(account.email)), \(account.emailVerified ? "proved" : "not proved")")
    }
    if !account.displayName.isEmpty { lines.append("  Name: \(printable(account.displayName))") }
    lines.append("  Ways of signing in: \(desk.ways(account))")
    for factor in account.secondFactors {
      let name = [factor.displayName, factor.maskedPhoneNumber].filter { !$0.isEmpty }.map { " (\(printable($0)))" }
      lines.append("  Second factor: \(printable(factor.kind))\(name.joined()), id \(printable(factor.factorID))")
    }
    if let created = account.createdAtMillis { lines.append("  Made: \(rfc3339(created))") }
    if let last = account.lastSignInAtMillis { lines.append("  Last sign-in: \(rfc3339(last))") }
    return Report(lines, [JSONMember("account", account.json)])
  }
}

struct Token: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the ID token, fresh where it has expired, for programs that present it.",
    discussion: "curl -H \"Authorization: Bearer $(latchkey token)\" https://service.example.com/")

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let session = try desk.session()
    return Report([session.idToken], [
      JSONMember("id_token", .string(session.idToken)),
      JSONMember("id_token_expires_at", .moment(session.idTokenExpiresAtMillis)),
    ])
  }
}

struct Delete: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Delete the account that is signed in, for good.",
    discussion: """
      latchkey reauthenticate --email alice@example.com
      latchkey delete --yes

      The service wants a proof that is a few minutes old at most.
      """)

  @Flag(name: .long, help: "Yes, delete it.")
  var yes = false

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard yes else { throw ValidationError("An account that is deleted does not come back: add --yes.") }
  }

  func perform(_ desk: Desk) throws -> Report {
    let session = try desk.session()
    _ = try desk.call(AccountRPC.delete, DeleteRequest(idToken: session.idToken))
    try desk.keep(nil)
    return Report(["Deleted: account \(printable(session.accountID))."], [
      JSONMember("outcome", .string("deleted")), JSONMember("account_id", .string(session.accountID)),
    ])
  }
}

struct Health: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Ask whether the service takes calls.",
    discussion: """
      latchkey health
      latchkey health --service latchkey.v1.AuthService

      Exit code 0: it does; 1: it answers that it does not; 3: it does not answer.
      """)

  @Option(name: .long, help: ArgumentHelp("One service of it, such as latchkey.v1.AuthService.", valueName: "name"))
  var service = ""

  @OptionGroup var common: CommonOptions

  func perform(_ desk: Desk) throws -> Report {
    let name = switch try desk.health(service) {
    case .serving: "SERVING"
    case .notServing: "NOT_SERVING"
    case .serviceUnknown: "SERVICE_UNKNOWN"
    case .unknown: "UNKNOWN"
    }
    let report = Report(["\(desk.common.address): \(name)"], [JSONMember("status", .string(name))])
    guard name == "SERVING" else { throw Ending(code: .refused, report: report) }
    return report
  }
}
