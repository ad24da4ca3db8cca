internal import API

// Workloads that need no account.

extension Step {
  static var health: Step {
    .call(HealthRPC.check, HealthCheckRequest()) { response, _ in serving(response) }
  }

  static var watchHealth: Step {
    .first(HealthRPC.watch, HealthCheckRequest()) { serving($0) }
  }

  private static func serving(_ response: HealthCheckResponse) -> Step {
    response.status == .serving ? .done : .wrong("a status other than SERVING")
  }

  /// Opens a connection, optionally makes one call, and closes the connection.
  static func handshake(calls: Bool, resumes: Bool) -> Step {
    .call(
      HandshakeCall { isResumed, _ in
        // A full handshake is always valid, because the first one of a loop has no session to resume.
        if isResumed && !resumes { return .wrong("the handshake resumed an earlier session") }
        return calls ? health : .done
      })
  }

  static var signingKeys: Step {
    .call(SessionRPC.getSigningKeys, GetSigningKeysRequest()) { response, _ in
      // Each key of the set has a `kty` (RFC 7517 4.1).
      response.jwksJSON.contains("\"kty\"") ? .done : .wrong("the key set is empty")
    }
  }

  static func listProviders(with providerID: String) -> Step {
    .call(ProviderFlowRPC.listProviders, ListProvidersRequest()) { response, _ in
      response.providerIDs.contains(providerID) ? .done : .wrong("the provider is missing")
    }
  }

  /// Starts a flow and does not finish it.
  static func startFlow(_ providerID: String, _ redirectURI: String) -> Step {
    let request = StartFlowRequest(providerID: providerID, redirectURI: redirectURI)
    return .call(ProviderFlowRPC.startFlow, request) { response, _ in
      guard !response.flowID.isEmpty, response.authorizationURL.hasPrefix("https://") else {
        return .wrong("the flow has no ID or no URL")
      }
      return response.authorizationURL.contains(response.flowID) ? .wrong("the URL contains the flow ID") : .done
    }
  }
}
