import ArgumentParser
import Wire

/// What a flow or a code is to end in.
enum Purpose: String, CaseIterable, ExpressibleByArgument {
  case signIn = "sign-in"
  case link
  case reauthenticate

  var ofFlow: StartFlowRequest.Purpose {
    switch self {
    case .signIn: .signIn
    case .link: .link
    case .reauthenticate: .reauthenticate
    }
  }

  var ofPhoneCode: PhoneCodePurpose {
    switch self {
    case .signIn: .signIn
    case .link: .link
    case .reauthenticate: .reauthenticate
    }
  }
}
