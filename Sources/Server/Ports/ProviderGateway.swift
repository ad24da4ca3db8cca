internal import Identity
internal import Observability
internal import Providers
internal import Store

/// Adapter of the providers module to the domain's port.
struct ProviderGateway: Identity.Providers {
  private let registry: Registry
  private let notices: ProviderNotices?

  init(_ registry: Registry, _ notices: ProviderNotices? = nil) {
    self.registry = registry
    self.notices = notices
  }

  var flowProviderIDs: Set<String> { registry.flowProviderIDs }

  func verify(_ token: ProviderToken, at now: Timestamp) async throws -> VerifiedCredential {
    let presented = PresentedToken(
      idToken: token.idToken, accessToken: token.accessToken, tokenSecret: token.tokenSecret, rawNonce: token.rawNonce,
      userJSON: token.userJSON)
    do {
      if let credential = try verifyNow(presented, token, at: now) { return credential }
      return VerifiedCredential(try await registry.ask(presented, of: token.providerID, at: now), presenting: token)
    } catch let refusal as ProviderRefusal {
      throw failure(refusal, of: token.providerID, field: "credential.provider_token")
    }
  }

  /// Not inlined, so that its memory is on the stack and not in the call's task.
  @inline(never) private func verifyNow(
    _ presented: PresentedToken, _ token: ProviderToken, at now: Timestamp
  ) throws -> VerifiedCredential? {
    guard let verified = try registry.verifyNow(presented, of: token.providerID, at: now) else { return nil }
    return VerifiedCredential(verified, presenting: token)
  }

  func subject(ofImported text: String, at providerID: String) throws -> String {
    do {
      return try registry.subject(ofImported: text, at: providerID)
    } catch {
      throw Failure(error, field: "providers.subject")
    }
  }

  func start(_ flow: FlowOrder, at now: Timestamp) async throws -> Identity.StartedFlow {
    let request = FlowRequest(
      redirectURI: flow.redirectURI, scopes: flow.scopes, parameters: flow.parameters, loginHint: flow.loginHint,
      freshLogin: flow.freshLogin, state: flow.state, nonce: flow.nonce, codeVerifier: flow.codeVerifier)
    do {
      let started = try await registry.start(request, at: flow.providerID, at: now)
      let responseMode: Identity.StartedFlow.ResponseMode = switch started.responseMode {
      case .query: .query
      case .formPost: .formPost
      }
      return Identity.StartedFlow(
        authorizationURL: started.authorizationURL, responseMode: responseMode,
        stateIsEchoed: started.stateIsEchoed, kept: started.kept)
    } catch let refusal as ProviderRefusal {
      throw failure(refusal, of: flow.providerID, field: "provider_id")
    }
  }

  func finish(
    _ flow: PendingFlow, with parameters: [String: String], at now: Timestamp
  ) async throws -> VerifiedCredential {
    let order = flow.order
    let state = FlowState(
      redirectURI: order.redirectURI, state: order.state, nonce: order.nonce, codeVerifier: order.codeVerifier,
      kept: flow.kept)
    do {
      let verified = try await registry.finish(Callback(parameters), of: state, at: order.providerID, at: now)
      let tokens = ProviderTokens(verified.own, of: order.providerID)
      return VerifiedCredential(verified, tokens)
    } catch let refusal as ProviderRefusal {
      throw failure(refusal, of: order.providerID, field: Failure.flowField)
    }
  }

  func revoke(_ token: TokenToRevoke, at now: Timestamp) async throws {
    let kind: RevocableToken.Kind = switch token.kind {
    case .accessToken: .accessToken
    case .refreshToken: .refreshToken
    case .authorizationCode: .authorizationCode
    }
    let revocable = RevocableToken(token.text, kind, clientID: token.clientID, redirectURI: token.redirectURI)
    do {
      try await registry.revoke(revocable, of: token.providerID, at: now)
    } catch let refusal as ProviderRefusal {
      throw failure(refusal, of: token.providerID, field: "token")
    }
  }

  private func failure(_ refusal: ProviderRefusal, of provider: String, field: String) -> Failure {
    if case .misconfigured(let why, let fix) = refusal { notices?.misconfigured(provider, why: why, fix: fix) }
    return Failure(refusal, field: field)
  }
}

extension VerifiedCredential {
  fileprivate init(_ verified: VerifiedToken, presenting token: ProviderToken) {
    var tokens = ProviderTokens(verified.own, of: token.providerID)
    tokens.idToken = token.idToken
    tokens.accessToken = token.accessToken
    tokens.secret = token.tokenSecret
    self.init(verified, tokens)
  }

  fileprivate init(_ verified: VerifiedToken, _ tokens: ProviderTokens) {
    self.init(
      verified.$assertion,
      singleUse: verified.toSpend.map { SingleUse(digest: $0.digest, expiresAt: $0.expiresAt) }, tokens: tokens,
      authenticatedAt: verified.authenticatedAt)
  }
}

extension ProviderTokens {
  fileprivate init(_ own: ProvidersOwnTokens, of providerID: String) {
    self.init(providerID: providerID)
    accessToken = own.accessToken
    idToken = own.idToken
    secret = own.secret
    refreshToken = own.refreshToken
    expiresInMillis = own.expiresInMillis
    grantedScopes = own.grantedScopes
  }
}

extension ProvidersOwnTokens {
  /// Lifetime of the access token; also `nil` if the provider's seconds overflow.
  var expiresInMillis: Int64? {
    expiresInSeconds.flatMap { seconds in
      let product = seconds.multipliedReportingOverflow(by: 1_000)
      return product.overflow ? nil : product.partialValue
    }
  }
}

extension Failure {
  /// Converts a refusal of a provider.
  /// - Parameter field: the request field with the credential.
  fileprivate init(_ refusal: ProviderRefusal, field: String) {
    switch refusal {
    case .notEnabled: self.init(.operationNotAllowed, field: field, hint: "Ask the operator to enable this provider.")
    case .invalid(let why):
      self.init(
        .invalidCredential, field: field, hint: "The provider's token is not valid for this service.", debug: why)
    case .wrongOrganisation(let why):
      self.init(
        .invalidCredential, field: field, hint: "Use an account of an allowed organisation.", debug: why)
    case .expired:
      self.init(.invalidCredential, field: field, hint: "Get a new token from the provider; this one has expired.")
    case .missingOrInvalidNonce where field == Failure.flowField:
      self.init(
        .missingOrInvalidNonce, field: field,
        hint: "Start the flow again; the provider's ID token belongs to another flow.")
    case .missingOrInvalidNonce:
      self.init(.missingOrInvalidNonce, field: field + ".raw_nonce", hint: "Set it to the nonce of the ID token.")
    case .audienceUnverifiable(let hint): self.init(.audienceUnverifiable, field: field, hint: hint)
    case .unavailable(let why):
      self.init(
        .providerUnavailable, field: field, hint: "Retry later; the provider is unreachable.",
        retryAfterMillis: 5_000, debug: why)
    case .misconfigured(let why, _):
      self.init(
        .providerMisconfigured, field: field,
        hint: "Ask the operator to correct the provider's settings; the server's log explains how.", debug: why)
    case .denied(let why):
      self.init(.providerDenied, field: field, hint: "The user or the provider denied access.", debug: why)
    case .refused(let why):
      self.init(
        .providerRefused, field: field, hint: "The provider rejected this service's request.", debug: why)
    case .flowMismatch(let why):
      self.init(.flowMismatch, field: field, hint: "Start the flow again with this provider.", debug: why)
    case .reservedParameter(let name):
      self.init(.reservedParameter, field: "custom_parameters", hint: "Remove \(name), which the server sets.")
    case .cannotRevoke(let hint): self.init(.operationNotAllowed, field: "token.provider_id", hint: hint)
    case .invalidParameter(let name, let hint): self.init(.invalidField, field: name, hint: hint)
    }
  }
}
