// latchkey: the command line of those who sign in, and of those who look after the service.
//
// Owns: arguments and help, where secrets come from, the file that remembers sessions, what is printed, exit codes.
// Does not own: how a call travels (Client), what it means (the server).
// Read next: Desk.swift, SignIn.swift, Outcomes.swift.

import ArgumentParser
import Reactor

@main
struct Latchkey: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkey", abstract: "Sign in to Latchkey, and look after the ways of signing in.",
    discussion: """
      The server is localhost:8443 as deploy/run starts it, unless --server or $LATCHKEY_SERVER names another.

        latchkey sign-up --email alice@example.com
        latchkey whoami
        latchkey link --provider oidc.corp --id-token-file token.jwt
        latchkey sign-out

      Passwords and tokens are asked for on the terminal, or read from files and the environment; they are never \
      arguments, which other people on the machine can see.

      A session is remembered in a file that only you can read; --profile keeps several apart.

      Exit codes: 0 done; 1 the service refused; 2 the command is not understood, a file of it cannot be used, or its \
      output cannot be written; 3 the service cannot be reached; 4 the service wants something else first (another \
      sign-in, a second factor); 5 nobody is signed in.
      """,
    version: Build.version,
    groupedSubcommands: [
      CommandGroup(name: "Sessions", subcommands: [
        SignUp.self, Start.self, SignIn.self, Refresh.self, Sessions.self, SignOut.self, WhoAmI.self, Token.self,
      ]),
      CommandGroup(name: "Ways of signing in", subcommands: [
        Providers.self, Link.self, Unlink.self, Reauthenticate.self,
      ]),
      CommandGroup(name: "Second factors", subcommands: [SecondFactor.self, Enroll.self, Withdraw.self]),
      CommandGroup(
        name: "The account and the service",
        subcommands: [Update.self, Merge.self, Delete.self, Watch.self, Health.self]),
      CommandGroup(name: "For administrators", subcommands: [
        Lookup.self, List.self, Disable.self, Enable.self, SetClaims.self, Revoke.self, RemoveFactors.self,
        UnlinkProvider.self, DeleteAccount.self, ImportCommand.self, Export.self, Backup.self,
      ]),
      CommandGroup(name: "Codes and mailed links", subcommands: [
        SendPhoneCode.self, SendEmailLink.self, VerifyEmail.self, ChangeEmail.self, ConfirmEmail.self,
        ResetPassword.self,
      ]),
      CommandGroup(name: "Where everything is kept", subcommands: [MoveCommand.self]),
    ])

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch {
      exitNow(tell(of: error))
    }
  }

  /// Says what was not said yet, and returns the exit code.
  private static func tell(of error: any Error) -> Int32 {
    if let failure = error as? SystemError {
      // Who closed the pipe, such as head, has all that it wanted.
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

/// Why a command ends otherwise than well.
struct Ending: Error {
  /// Documented in the help of `latchkey`.
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

/// A command that does its work at a desk and reports.
protocol DeskCommand: ParsableCommand {
  var common: CommonOptions { get }
  func perform(_ desk: Desk) throws -> Report
}

extension DeskCommand {
  func run() throws { try show(asJSON: common.json) { try perform(Desk(common)) } }
}

/// Shows what is reported, however the command ends.
func show(asJSON: Bool, _ perform: () throws -> Report) throws {
  try showEnding(asJSON: asJSON) { try perform().show(asJSON: asJSON) }
}

/// For a command that shows by itself what it has to say before its end.
func showEnding(asJSON: Bool, _ perform: () throws -> Void) throws {
  do {
    try perform()
  } catch let ending as Ending {
    // A program reads one document from standard output, however the command ended.
    if asJSON { try ending.report.show(asJSON: true) } else { writeAll(ending.report.bytes(asJSON: false), to: 2) }
    throw ExitCode(ending.code.rawValue)
  }
}
