import ArgumentParser
import API

/// The purpose of a flow or code.
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
