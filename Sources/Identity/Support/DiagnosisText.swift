import Encodings
import Store

// The sentences of a diagnosis, for administrators. They quote nothing that a client sent.

extension Diagnosis {
  /// One sentence: what is the matter.
  var summary: String {
    switch cause {
    case .nothingFound:
      at.map { "Nothing prevents a sign-in; the last one was at \(rfc3339($0.millis))." }
        ?? "Nothing prevents a sign-in; there was none yet."
    case .noAccount:
      count == 0
        ? "No account has this address." : "No account has this address; \(attempts) with it failed\(lastAt)."
    case .accountDeleted: "The account was deleted\(moment)."
    case .accountMerged: "The account was merged into account \(detail)\(moment)."
    case .accountIdleRemoved: "The server removed the anonymous account\(moment), because it was not used."
    case .accountDisabled:
      detail.isEmpty ? "The account is disabled." : "The account was disabled\(moment) by \(detail)."
    case .importedPasswordUnusable:
      "The imported password cannot be verified: its hash key is missing or sealed with another master key."
    case .blocked: "The limit \(limit) blocks this user until \(until.map { rfc3339($0.millis) } ?? "")."
    case .limitReached: "The limit \(limit), which counts several users together, rejected the last attempt\(moment)."
    case .noSignInMethod: "The account has no sign-in method that is enabled."
    case .noPassword: "The account has no password, and \(attempts) with one failed\(lastAt)."
    case .wrongPassword: "The password was wrong in \(attempts)\(lastAt)."
    case .wrongCode: "The code was wrong in \(attempts)\(lastAt)."
    case .secondFactorFailed: "The first factor was correct, but the second factor failed in \(attempts)\(lastAt)."
    case .emailNotVerified: "The email address of the account is not verified, which the last call required\(moment)."
    case .messageNotDelivered: "The last message (\(method)) was not delivered: \(detail)."
    case .providerDenied: "The user or the provider\(named) denied access\(moment)."
    case .providerFailing: "Sign-ins by provider\(named) fail with \(reason): \(attempts)\(lastAt)."
    case .credentialRejected: "The credential\(named) was rejected with \(reason) in \(attempts)\(lastAt)."
    case .methodNotEnabled: "The method\(named) is not enabled, or not for this account; the last attempt was\(moment)."
    case .conflictOpen:
      "The user tried to sign in by \(method), whose email address this account has, and has not completed the link."
    case .sessionsEnded: "The sessions of the account were ended\(moment)\(reason.isEmpty ? "" : " (\(reason))")."
    case .attemptOutdated:
      "The last attempt used a code, link or flow that had expired or was used (\(reason))\(moment)."
    case .serviceOverloaded: "The server was overloaded (\(reason)) at the last attempt\(moment)."
    case .deniedByHook: "A hook of the operator denied \(attempts)\(lastAt)."
    case .hookUnavailable: "A hook of the operator gave no valid answer in \(attempts)\(lastAt)."
    case .secondFactorNotEnrolled:
      "The user signed in at \(detail), but must enroll a second factor first, which was due\(moment)."
    }
  }

  /// One sentence: what to do.
  var advice: String {
    switch cause {
    case .nothingFound: "Ask the user for the time and the text of the error, and search the log for it."
    case .noAccount: "Ask the user for other addresses, or let the user sign up."
    case .accountDeleted: "The account cannot be restored; let the user sign up again."
    case .accountMerged: "Look at that account instead."
    case .accountIdleRemoved: "Let the user start again, and add a sign-in method to keep the account."
    case .accountDisabled: "Enable it with `latchkey enable` if the reason no longer applies."
    case .importedPasswordUnusable:
      "Import the accounts again with the hash key, or let the user reset the password."
    case .blocked: "Wait, or end the block with `latchkey unlock` once you know that the attempts were the user's."
    case .limitReached: "Wait, and check the limits and the traffic of that network or caller."
    case .noSignInMethod: "Enable a method of the account, or let the user reset the password by email."
    case .noPassword: "Let the user sign in by another method of the account, or set a password by a reset."
    case .wrongPassword: "Let the user reset the password."
    case .wrongCode: "Let the user request a new code and enter the latest one."
    case .secondFactorFailed:
      "Check the clock of the user's device, let the user enter a recovery code, or run `latchkey remove-factors`."
    case .emailNotVerified: "Let the user verify the address; a link is sent by SendEmailVerification."
    case .messageNotDelivered: "Fix the cause, then run `latchkey resend` with the message's ID."
    case .providerDenied: "Let the user try again and grant access, or use another method."
    case .providerFailing: "Check the provider's settings and the server's log for the cause."
    case .credentialRejected: "Let the user sign in at the provider again, and check the calling service's request."
    case .methodNotEnabled: "Use a method that the account has, or enable this one in the configuration."
    case .conflictOpen: "Let the user sign in by a method of this account and confirm the link."
    case .sessionsEnded: "Let the user sign in again."
    case .attemptOutdated: "Let the user start the sign-in again."
    case .serviceOverloaded: "Let the user try again, and check the load of the server."
    case .deniedByHook: "List the events `HOOK_DENIED`, which name the hook and its code, and check the hook's rules."
    case .hookUnavailable: "Check that the hook runs, and search the server's log for the cause."
    case .secondFactorNotEnrolled:
      "Let the user enroll a second factor in the calling service, or change `policy.require_second_factor`."
    }
  }

  private var attempts: String { count == 1 ? "1 attempt" : "\(count) attempts" }
  private var moment: String { at.map { " at \(rfc3339($0.millis))" } ?? "" }
  private var lastAt: String { at.map { ", the last one at \(rfc3339($0.millis))" } ?? "" }
  private var named: String { method.isEmpty ? "" : " \(method)" }
}
