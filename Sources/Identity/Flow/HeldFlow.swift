package import Store

/// What a flow is to end in. A redirect is good for nothing else, so that nobody's sign-in becomes a link, nor the
/// other way round.
package enum FlowPurpose: UInt8, Sendable, CaseIterable {
  case signIn
  case link
  case reauthenticate
}

/// What the row of a flow keeps sealed until its redirect comes.
package struct HeldFlow: Hashable, Sendable {
  package var purpose: FlowPurpose
  /// The account of a link or a reauthentication; empty for a sign-in.
  package var accountID: String
  package var order: FlowOrder
  package var startedAt: Timestamp
  package var stateIsEchoed: Bool
  /// What the adapter needs again.
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

extension HeldFlow {
  private static let format: UInt8 = 1

  /// Without scopes, parameters and login hint, which only the start needs.
  var packed: [UInt8] {
    var packer = Packer()
    packer.append(HeldFlow.format)
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
    guard unpacker.byte() == HeldFlow.format, let purpose = unpacker.byte().flatMap(FlowPurpose.init(rawValue:)),
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
