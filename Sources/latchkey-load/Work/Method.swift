/// The methods of all services, and the TLS handshake. The raw value is the row in the report.
enum Method: Int, CaseIterable {
  case handshake, check, watchHealth, signIn, link, unlink, reauthenticate, fetchProviders
  case create, get, update, delete, merge
  case refresh, signOut, revokeAll, listSessions, verifyIDToken, getSigningKeys, listProviders, startFlow
  case startSecondFactor, finishSecondFactor, startEnrollment, finishEnrollment, withdraw
  case sendPhoneCode, sendEmailLink, sendEmailVerification, sendPasswordReset, sendEmailChange
  case checkCode, confirmEmail, resetPassword
  case lookup, list, setDisabled, setCustomClaims, revokeSessions, deleteAccount, removeSecondFactors, unlinkProvider
  case createCustomToken, importAccounts, exportAccounts
  case watchEvents

  var name: String {
    switch self {
    case .handshake: "TLS handshake"
    case .check: "Health/Check"
    case .watchHealth: "Health/Watch"
    case .signIn: "AuthService/SignIn"
    case .link: "AuthService/Link"
    case .unlink: "AuthService/Unlink"
    case .reauthenticate: "AuthService/Reauthenticate"
    case .fetchProviders: "AuthService/FetchProviders"
    case .create: "AccountService/Create"
    case .get: "AccountService/Get"
    case .update: "AccountService/Update"
    case .delete: "AccountService/Delete"
    case .merge: "AccountService/Merge"
    case .refresh: "SessionService/Refresh"
    case .signOut: "SessionService/SignOut"
    case .revokeAll: "SessionService/RevokeAll"
    case .listSessions: "SessionService/ListSessions"
    case .verifyIDToken: "SessionService/VerifyIdToken"
    case .getSigningKeys: "SessionService/GetSigningKeys"
    case .listProviders: "ProviderFlowService/ListProviders"
    case .startFlow: "ProviderFlowService/StartFlow"
    case .startSecondFactor: "SecondFactorService/StartSecondFactor"
    case .finishSecondFactor: "SecondFactorService/FinishSecondFactor"
    case .startEnrollment: "SecondFactorService/StartEnrollment"
    case .finishEnrollment: "SecondFactorService/FinishEnrollment"
    case .withdraw: "SecondFactorService/Withdraw"
    case .sendPhoneCode: "VerificationService/SendPhoneCode"
    case .sendEmailLink: "VerificationService/SendEmailLink"
    case .sendEmailVerification: "VerificationService/SendEmailVerification"
    case .sendPasswordReset: "VerificationService/SendPasswordReset"
    case .sendEmailChange: "VerificationService/SendEmailChange"
    case .checkCode: "VerificationService/CheckCode"
    case .confirmEmail: "VerificationService/ConfirmEmail"
    case .resetPassword: "VerificationService/ResetPassword"
    case .lookup: "AdminService/Lookup"
    case .list: "AdminService/List"
    case .setDisabled: "AdminService/SetDisabled"
    case .setCustomClaims: "AdminService/SetCustomClaims"
    case .revokeSessions: "AdminService/RevokeSessions"
    case .deleteAccount: "AdminService/DeleteAccount"
    case .removeSecondFactors: "AdminService/RemoveSecondFactors"
    case .unlinkProvider: "AdminService/UnlinkProvider"
    case .createCustomToken: "AdminService/CreateCustomToken"
    case .importAccounts: "AdminService/ImportAccounts"
    case .exportAccounts: "AdminService/ExportAccounts"
    case .watchEvents: "EventService/Watch"
    }
  }
}

extension Call {
  var method: Method {
    switch self {
    case .connect: .handshake
    case .health: .check
    case .watchHealth: .watchHealth
    case .fetch, .fetchHeld: .fetchProviders
    case .signIn: .signIn
    case .link: .link
    case .unlink: .unlink
    case .reauthenticate: .reauthenticate
    case .create: .create
    case .get: .get
    case .update: .update
    case .delete: .delete
    case .merge: .merge
    case .refresh: .refresh
    case .signOut: .signOut
    case .revokeAll: .revokeAll
    case .listSessions: .listSessions
    case .verify: .verifyIDToken
    case .signingKeys: .getSigningKeys
    case .listProviders: .listProviders
    case .startFlow: .startFlow
    case .startSecondFactor: .startSecondFactor
    case .finishSecondFactor: .finishSecondFactor
    case .startEnrollment: .startEnrollment
    case .finishEnrollment: .finishEnrollment
    case .withdraw: .withdraw
    case .sendPhoneCode: .sendPhoneCode
    case .sendEmailLink: .sendEmailLink
    case .sendEmailVerification: .sendEmailVerification
    case .sendPasswordReset: .sendPasswordReset
    case .sendEmailChange: .sendEmailChange
    case .checkCode: .checkCode
    case .confirmEmail: .confirmEmail
    case .resetPassword: .resetPassword
    case .lookup: .lookup
    case .list: .list
    case .setDisabled: .setDisabled
    case .setCustomClaims: .setCustomClaims
    case .revokeSessions: .revokeSessions
    case .deleteAccount: .deleteAccount
    case .removeSecondFactors: .removeSecondFactors
    case .unlinkProvider: .unlinkProvider
    case .createCustomToken: .createCustomToken
    case .importAccounts: .importAccounts
    case .exportAccounts: .exportAccounts
    case .watchEvents: .watchEvents
    }
  }
}
