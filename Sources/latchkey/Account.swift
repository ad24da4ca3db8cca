import ArgumentParser
import Tokens
import API

struct Update: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Change the name, the photo, the address or the password of your account.",
    discussion: """
      latchkey update --display-name Alice
      latchkey update --email alice@new.example.com --continue-uri http://localhost:3000/callback
      latchkey update --new-password

      A new address or password wants a proof that is a few minutes old at most (latchkey reauthenticate), and ends \
      every other session. With --continue-uri the old address, if it was proved, is mailed a way back.
      """)

  @Option(name: .long, help: "How the account's owner is called; empty: nothing.")
  var displayName: String?

  @Option(name: .long, help: ArgumentHelp("The address of a photo; empty: none.", valueName: "url"))
  var photoURL: String?

  @Option(name: .long, help: "The new address, which nobody has proved then.")
  var email: String?

  @Option(name: .long, help: "The page that the link of the way back leads to; one that the service knows.")
  var continueURI = ""

  @Option(name: .long, help: ArgumentHelp("Of that message, such as de.", valueName: "language"))
  var locale = ""

  @Flag(name: .long, help: "Ask for a new password.")
  var newPassword = false

  @Option(
    name: .long,
    help: ArgumentHelp("Where the new password stands; - is standard input.", valueName: "file"))
  var newPasswordFile: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard displayName != nil || photoURL != nil || email != nil || newPassword || newPasswordFile != nil else {
      throw ValidationError("Say what is to be changed.")
    }
  }

  func perform(_ desk: Desk) throws -> Report {
    var request = UpdateRequest(idToken: try desk.session().idToken, continueURI: continueURI, locale: locale)
    let wanted = [("display_name", displayName), ("photo_url", photoURL), ("email", email)]
    request.account = Account(email: email ?? "", displayName: displayName ?? "", photoURL: photoURL ?? "")
    request.updateMask = FieldMask(paths: wanted.compactMap { path, value in value.map { _ in path } })
    if newPassword || newPasswordFile != nil {
      request.newPassword = try SecretSource(
        option: "--new-password-file", file: newPasswordFile, prompt: "New password: ", isNew: true).read()
    }
    let answer = try desk.call(AccountRPC.update, request)
    return try desk.opened(answer.session, "Changed")
  }
}

struct Merge: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Move what another account of yours has into this one, and close the other.",
    discussion: """
      The calling service needs the right to merge (merge: true in its configuration). The other account is signed in \
      under another profile; both sign-ins have to be a few minutes old at most:

        latchkey sign-in --provider oidc.corp --id-token-file token.jwt --profile other
        latchkey merge --other-profile other --dry-run
        latchkey merge --other-profile other --keep password=this --keep oidc.corp=other

      Where both have a password, a telephone or a person of one provider, --keep says whose stays. Of second factors \
      (second_factors) it is asked where both have some and more than five together.
      """)

  @Option(name: .long, help: ArgumentHelp("The profile that the other account is signed in under.", valueName: "name"))
  var otherProfile: String

  @Flag(name: .long, help: "Only say what would happen.")
  var dryRun = false

  @Option(
    name: .long,
    help: ArgumentHelp("Settles a conflict: whose is kept. May be given several times.", valueName: "field=this|other"))
  var keep: [String] = []

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard keep.allSatisfy({ Merge.settled($0) != nil }) else {
      throw ValidationError("--keep is FIELD=this or FIELD=other.")
    }
    guard otherProfile != common.profileName else {
      throw ValidationError("--other-profile is another one than --profile.")
    }
  }

  private static func settled(_ text: String) -> (field: String, isThis: Bool)? {
    guard let equals = text.lastIndex(of: "="), equals > text.startIndex else { return nil }
    switch text[text.index(after: equals)...] {
    case "this": return (String(text[..<equals]), true)
    case "other": return (String(text[..<equals]), false)
    default: return nil
    }
  }

  func perform(_ desk: Desk) throws -> Report {
    let otherDesk = desk.ofProfile(otherProfile)
    let (mine, theirs) = (try desk.session(), try otherDesk.session())
    let answer = try desk.call(
      AccountRPC.merge,
      MergeRequest(
        survivorIDToken: mine.idToken, otherIDToken: theirs.idToken, dryRun: dryRun,
        keep: keep.compactMap(Merge.settled).map {
          MergeKeep(field: $0.field, fromAccountID: $0.isThis ? mine.accountID : theirs.accountID)
        }))
    guard let session = answer.session else { return try unfinished(answer) }
    var report = try desk.opened(session, "Merged")
    try otherDesk.keep(nil)
    report.lines.append("  Closed: account \(printable(answer.closedAccountID)).")
    report.members += members(answer)
    return report
  }

  /// Of a dry run, or of a merge that has to be told first what to keep.
  private func unfinished(_ answer: MergeResponse) throws -> Report {
    let moved = answer.movedProviderIDs.map(printable).joined(separator: ", ")
    var lines = ["Nothing was changed."]
    if dryRun { lines.append("Would move: \(moved.isEmpty ? "no way of signing in" : moved).") }
    for conflict in answer.conflicts {
      let (this, other) = (printable(conflict.survivorValue), printable(conflict.otherValue))
      lines.append("Both have one of \(printable(conflict.field)): this \(this), other \(other). Give --keep.")
    }
    let outcome = JSONMember("outcome", .string(dryRun ? "report" : "conflicts"))
    let report = Report(lines, [outcome] + members(answer))
    guard dryRun else { throw Ending(code: .unfinished, report: report) }
    return report
  }

  private func members(_ answer: MergeResponse) -> [JSONMember] {
    let conflicts = answer.conflicts.map { conflict in
      JSONValue.object([
        JSONMember("field", .string(conflict.field)), JSONMember("this", .string(conflict.survivorValue)),
        JSONMember("other", .string(conflict.otherValue)),
      ])
    }
    return [
      JSONMember("conflicts", .array(conflicts)),
      JSONMember("moved_provider_ids", .strings(answer.movedProviderIDs)),
      JSONMember("closed_account_id", .string(answer.closedAccountID)),
    ]
  }
}
