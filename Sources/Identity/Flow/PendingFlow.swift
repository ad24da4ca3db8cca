package import Store

/// The purpose of a flow. A redirect is valid for no other purpose, so a sign-in never becomes a link or the reverse.
package enum FlowPurpose: UInt8, Sendable, CaseIterable {
  case signIn
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

// MARK: binary form

extension PendingFlow {
  private static let format: UInt8 = 1

  /// The binary form, without scopes, parameters and login hint, which only the start of the flow needs.
  var packed: [UInt8] {
    var packer = Packer()
    packer.append(PendingFlow.format)
    packer.append(purpose.rawValue)
    packer.append(accountID)
    packer.append(order.providerID)
    packer.append(order.redirectURI)
    packer.append(UInt8(order.freshLogin ? 1 : 0))
    packer.append(order.state)
    packer.append(order.nonce)
    packer.append(order.codeVerifier)
    packer.append(startedAt.millis)
    packer.append(UInt8(stateIsEchoed ? 1 : 0))
    packer.append(kept)
    return packer.bytes
  }

  init?(packed: [UInt8]) {
    var unpacker = Unpacker(packed)
    guard unpacker.byte() == PendingFlow.format, let purpose = unpacker.byte().flatMap(FlowPurpose.init(rawValue:)),
      let accountID = unpacker.text(), let providerID = unpacker.text(), let redirectURI = unpacker.text(),
      let freshLogin = unpacker.flag(), let state = unpacker.text(), let nonce = unpacker.text(),
      let codeVerifier = unpacker.text(), let startedAtMillis = unpacker.number(),
      let stateIsEchoed = unpacker.flag(), let kept = unpacker.text(), unpacker.isAtEnd
    else { return nil }
    let order = FlowOrder(
      providerID: providerID, redirectURI: redirectURI, freshLogin: freshLogin, state: state, nonce: nonce,
      codeVerifier: codeVerifier)
    self.init(
      order, purpose: purpose, accountID: accountID, startedAt: Timestamp(millis: startedAtMillis),
      stateIsEchoed: stateIsEchoed, kept: kept)
  }
}
