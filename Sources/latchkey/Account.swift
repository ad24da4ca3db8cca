import ArgumentParser
import Tokens
import API

struct Update: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Change the name, photo, email address or password of your account.",
    discussion: """
      latchkey update --display-name Alice
      latchkey update --email alice@new.example.com \\
        --continue-uri http://localhost:3000/callback
      latchkey update --new-password

      A new email address or password requires a recent sign-in (latchkey reauthenticate) and ends every other \
      session. With --continue-uri, the service sends a link to the old address, if verified, that reverts the change.
      """)

  @Option(name: .long, help: "New display name; empty to remove it.")
  var displayName: String?

  @Option(name: .long, help: ArgumentHelp("New URL of the photo; empty to remove it.", valueName: "url"))
  var photoURL: String?

  @Option(name: .long, help: "New email address. It is unverified at first.")
  var email: String?

  @Option(name: .long, help: "Page that the link to revert the change opens; one of the caller's redirect_uris.")
  var continueURI = ""

  @Option(name: .long, help: ArgumentHelp("Language of that email, such as de.", valueName: "language"))
  var locale = ""

  @Flag(name: .long, help: "Ask for a new password.")
  var newPassword = false

  @Option(
    name: .long,
    help: ArgumentHelp("File with the new password; - for standard input.", valueName: "file"))
  var newPasswordFile: String?

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard displayName != nil || photoURL != nil || email != nil || newPassword || newPasswordFile != nil else {
      throw ValidationError("Give at least one option that changes the account.")
    }
  }

  func perform(_ context: CommandContext) throws -> Report {
    var request = UpdateRequest(idToken: try context.session().idToken, continueURI: continueURI, locale: locale)
    let wanted = [("display_name", displayName), ("photo_url", photoURL), ("email", email)]
    request.account = Account(email: email ?? "", displayName: displayName ?? "", photoURL: photoURL ?? "")
    request.updateMask = FieldMask(paths: wanted.compactMap { path, value in value.map { _ in path } })
    if newPassword || newPasswordFile != nil {
      request.newPassword = try SecretSource(
        option: "--new-password-file", file: newPasswordFile, prompt: "New password: ", isNew: true).read()
    }
    let answer = try context.call(AccountRPC.update, request)
    return try context.opened(answer.session, "Changed")
  }
}

struct Merge: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Move the contents of another account of yours into this one, and close the other account.",
    discussion: """
      The caller needs the right to merge (merge: true in its configuration). Sign in to the other account under \
      another profile. Both sign-ins must be recent:

        latchkey sign-in --profile other --provider oidc.corp \\
          --id-token-file token.jwt
        latchkey merge --other-profile other --dry-run
        latchkey merge --other-profile other --keep password=this \\
          --keep oidc.corp=other

      If both accounts have a password, a phone number or an identity of the same provider, --keep selects which one \
      stays. For second factors (second_factors) it does so if both accounts have some, and more than five in total.
      """)

  @Option(name: .long, help: ArgumentHelp("Profile of the other account's session.", valueName: "name"))
  var otherProfile: String

  @Flag(name: .long, help: "Only report what would change.")
  var dryRun = false

  @Option(
    name: .long,
    help: ArgumentHelp("Account whose value to keep in a conflict. Repeatable.", valueName: "field=this|other"))
  var keep: [String] = []

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard keep.allSatisfy({ Merge.settled($0) != nil }) else {
      throw ValidationError("Give --keep as FIELD=this or FIELD=other.")
    }
    guard otherProfile != common.profileName else {
      throw ValidationError("Give --other-profile another name than --profile.")
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

  func perform(_ context: CommandContext) throws -> Report {
    let otherContext = context.ofProfile(otherProfile)
    let (mine, theirs) = (try context.session(), try otherContext.session())
    let answer = try context.call(
      AccountRPC.merge,
      MergeRequest(
        survivorIDToken: mine.idToken, otherIDToken: theirs.idToken, dryRun: dryRun,
        keep: keep.compactMap(Merge.settled).map {
          MergeKeep(field: $0.field, fromAccountID: $0.isThis ? mine.accountID : theirs.accountID)
        }))
    guard let session = answer.session else { return try unfinished(answer) }
    var report = try context.opened(session, "Merged")
    try otherContext.keep(nil)
    report.lines.append("  Closed: account \(printable(answer.closedAccountID)).")
    report.members += members(answer)
    return report
  }

  /// Reports a dry run, or a merge that requires --keep first.
  private func unfinished(_ answer: MergeResponse) throws -> Report {
    let moved = answer.movedProviderIDs.map(printable).joined(separator: ", ")
    var lines = ["Nothing was changed."]
    if dryRun { lines.append("Would move: \(moved.isEmpty ? "no sign-in method" : moved).") }
    for conflict in answer.conflicts {
      let (this, other) = (printable(conflict.survivorValue), printable(conflict.otherValue))
      lines.append("Both accounts have \(printable(conflict.field)): this \(this), other \(other). Select with --keep.")
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
