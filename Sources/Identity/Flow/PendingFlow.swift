package import Sealed
package import Store

/// The purpose of a flow. A redirect is valid for no other purpose, so a sign-in never becomes a link or the reverse.
///
/// The raw values are the numbers in sealed rows.
package enum FlowPurpose: Int32, Sendable, CaseIterable {
  case signIn = 1
  case link
  case reauthenticate
}

/// The sealed content of a flow's row until the redirect arrives.
package struct PendingFlow: Hashable, Sendable {
  package var purpose: FlowPurpose
  /// The account of a link or a reauthentication; empty for a sign-in.
  package var accountID: String
  package var order: FlowOrder
  package var startedAt: Timestamp
  package var stateIsEchoed: Bool
  /// State that the provider's adapter needs at the end of the flow.
  package var kept: String

  package init(
    _ order: FlowOrder, purpose: FlowPurpose, accountID: String, startedAt: Timestamp, stateIsEchoed: Bool = true,
    kept: String = ""
  ) {
    self.order = order
    self.purpose = purpose
    self.accountID = accountID
    self.startedAt = startedAt
    self.stateIsEchoed = stateIsEchoed
    self.kept = kept
  }
}

// MARK: sealed form

extension PendingFlow: SealedContent {
  package init(_ message: Sealed.PendingFlow) throws {
    let order = FlowOrder(
      providerID: try message.providerID.required(), redirectURI: message.redirectURI, freshLogin: message.freshLogin,
      state: message.state, nonce: message.nonce, codeVerifier: message.codeVerifier)
    self.init(
      order, purpose: try FlowPurpose(message.purpose).required(), accountID: message.accountID,
      startedAt: Timestamp(millis: try message.startedAtMillis.required()), stateIsEchoed: message.stateIsEchoed,
      kept: message.kept)
  }

  /// The message, without scopes, parameters and login hint, which only the start of the flow needs.
  package var message: Sealed.PendingFlow {
    Sealed.PendingFlow(
      purpose: purpose.message, accountID: accountID, providerID: order.providerID, redirectURI: order.redirectURI,
      freshLogin: order.freshLogin, state: order.state, nonce: order.nonce, codeVerifier: order.codeVerifier,
      startedAtMillis: startedAt.millis, stateIsEchoed: stateIsEchoed, kept: kept)
  }
}

extension FlowPurpose {
  init?(_ message: Sealed.FlowPurpose?) { self.init(rawValue: message?.rawValue ?? 0) }

  var message: Sealed.FlowPurpose? { Sealed.FlowPurpose(rawValue: rawValue) }
}
