import ArgumentParser
import API

/// What a flow or a code is to end in.
enum Purpose: String, CaseIterable, ExpressibleByArgument {
  case signIn = "sign-in"
  case link
  case reauthenticate

  var onTheWire: ProofPurpose {
    switch self {
    case .signIn: .signIn
    case .link: .link
    case .reauthenticate: .reauthenticate
    }
  }
}
