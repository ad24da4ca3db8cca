import Store

/// Storage of flows in the pending table.
extension Environment {
  func hold(_ flow: PendingFlow, call: CallFacts, now: Timestamp) -> NewPending {
    newPending(
      flow.packed, purpose: .flow, identity: IdentityKey(providerID: flow.order.providerID, subject: ""),
      accountID: "", lifetimeMillis: policy.flowLifetimeMillis, call: call, now: now)
  }

  /// Opens the row of a flow id. Every mismatch fails with the same public text, as in `openPending`.
  func openFlow(
    _ record: PendingRecord?, call: CallFacts, now: Timestamp
  ) throws(Failure) -> (row: PendingRecord, flow: PendingFlow) {
    guard let record else { throw Failure.flowMismatch("unknown flow") }
    guard record.caller == call.caller else { throw Failure.flowMismatch("another caller's flow") }
    guard record.binding == call.binding else { throw Failure.flowMismatch("flow of another binding") }
    guard record.purpose == .flow else { throw Failure.flowMismatch("token for purpose \(record.purpose.rawValue)") }
    guard !record.isExpired(at: now) else {
      throw Failure(.flowExpired, field: Failure.flowField, hint: "Start the flow again.")
    }
    guard record.completedAt == nil, record.attemptsLeft > 0 else { throw Failure.flowWasUsed }
    let flow = try openContent(
      record.sealed, context: PendingTable.context(of: record), PendingFlow.init(packed:), or: Failure.flowMismatch)
    guard flow.order.providerID == record.identity.providerID else {
      throw Failure.flowMismatch("the row is of another provider")
    }
    return (record, flow)
  }
}

extension Failure {
  package static let flowField = "credential.authorization_response"
  static let flowWasUsed = Failure(.flowUsed, field: flowField, hint: "Start the flow again.")

  static func flowMismatch(_ debug: String) -> Failure {
    Failure(.flowMismatch, field: flowField, hint: "Start the flow again, with the provider.", debug: debug)
  }
}
