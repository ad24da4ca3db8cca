// latchkey: the command line for users and administrators.
//
// Owns: arguments and help, input of secrets, the file of stored sessions, output, exit codes.
// Does not own: the transport of calls (Client), their meaning (the server).
// Read next: CommandContext.swift, SignIn.swift, Outcomes.swift.

import ArgumentParser
import Reactor

@main
struct Latchkey: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkey", abstract: "Sign in to Latchkey, and manage accounts and sign-in methods.",
    discussion: """
      The default server is localhost:8443, as deploy/run starts it. Use --server or $LATCHKEY_SERVER for another.

        latchkey sign-up --email alice@example.com
        latchkey whoami
        latchkey link --provider oidc.corp --id-token-file token.jwt
        latchkey sign-out

      The command reads passwords and tokens from the terminal, files or the environment. They are never arguments, \
      because other users of the machine can see arguments.

      Sessions are stored in a file that only you can read. Use --profile for several sessions.

      Exit codes: 0 done; 1 the service rejected the call; 2 the command or one of its files is invalid, or its output \
      cannot be written; 3 the service cannot be reached; 4 the service requires another step first (another sign-in, \
      a second factor); 5 no user is signed in.
      """,
    version: Build.version,
    groupedSubcommands: [
      CommandGroup(name: "Sessions", subcommands: [
        SignUp.self, Start.self, SignIn.self, Refresh.self, Sessions.self, SignOut.self, WhoAmI.self, Token.self,
      ]),
      CommandGroup(name: "Sign-in methods", subcommands: [
        Providers.self, Link.self, Unlink.self, Reauthenticate.self, Passkeys.self, RevokeToken.self,
      ]),
      CommandGroup(name: "Second factors", subcommands: [SecondFactor.self, Enroll.self, Withdraw.self]),
      CommandGroup(
        name: "Account and service",
        subcommands: [Update.self, Merge.self, Delete.self, Watch.self, Health.self]),
      CommandGroup(name: "Administration", subcommands: [
        Lookup.self, List.self, Disable.self, Enable.self, SetClaims.self, Revoke.self, RemoveFactors.self,
        UnlinkProvider.self, DeleteAccount.self, ImportCommand.self, Export.self, Backup.self, Keys.self,
        CreateAccount.self, Invite.self, UpdateAccount.self, LinkIdentity.self, SetFactors.self, EmailLink.self,
        ForgetAccount.self, SetTransferIDs.self, SearchCommand.self, ExportAccount.self,
      ]),
      CommandGroup(
        name: "Help for a user", subcommands: [Why.self, Events.self, Unlock.self, Messages.self, Resend.self]),
      CommandGroup(name: "Codes and links", subcommands: [
        SendPhoneCode.self, SendEmailCode.self, SendEmailLink.self, VerifyEmail.self, ChangeEmail.self,
        ConfirmEmail.self, ResetPassword.self,
      ]),
      CommandGroup(name: "Store", subcommands: [MoveCommand.self, RestoreCommand.self]),
      CommandGroup(name: "Rules of your own", subcommands: [Hook.self]),
    ])

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch {
      exitNow(tell(of: error))
    }
  }

  /// Prints an error, unless the command has printed it already, and returns the exit code.
  private static func tell(of error: any Error) -> Int32 {
    if let failure = error as? SystemError {
      // The reader of a pipe, such as head, may close it when it has read enough.
      if !failure.isBrokenPipe { writeAll(Array("\(failure)\n".utf8), to: 2) }
      return Ending.Code.usage.rawValue
    }
    let status = exitCode(for: error)
    let text = fullMessage(for: error)
    guard status.isSuccess else {
      if !text.isEmpty { writeAll(Array((text + "\n").utf8), to: 2) }
      return status == .validationFailure ? Ending.Code.usage.rawValue : status.rawValue
    }
    do throws(SystemError) {
      try tryWriteOutput(Array((text + "\n").utf8))
      return status.rawValue
    } catch {
      return tell(of: error)
    }
  }
}

/// The unsuccessful end of a command: an exit code and a report.
struct Ending: Error {
  /// The exit codes, as documented in the help of `latchkey`.
  enum Code: Int32 {
    case refused = 1
    case usage = 2
    case unreachable = 3
    case unfinished = 4
    case nobody = 5
  }

  let code: Code
  let report: Report
}

/// A command that calls the service and returns a report.
protocol ServiceCommand: ParsableCommand {
  var common: CommonOptions { get }
  func perform(_ context: CommandContext) throws -> Report
}

extension ServiceCommand {
  func run() throws { try show(asJSON: common.json) { try perform(CommandContext(common)) } }
}

/// Runs a command and prints its report, on success and on failure.
func show(asJSON: Bool, _ perform: () throws -> Report) throws {
  try showEnding(asJSON: asJSON) { try perform().show(asJSON: asJSON) }
}

/// Runs a command that prints its own output, and prints only the report of a failure.
func showEnding(asJSON: Bool, _ perform: () throws -> Void) throws {
  do {
    try perform()
  } catch let ending as Ending {
    // With --json, standard output receives one document, on success and on failure.
    if asJSON { try ending.report.show(asJSON: true) } else { writeAll(ending.report.bytes(asJSON: false), to: 2) }
    throw ExitCode(ending.code.rawValue)
  }
}
