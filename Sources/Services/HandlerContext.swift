internal import GRPC
package import Callers
package import Identity
internal import Store
internal import API
internal import Protobuf

/// What all services share: the domain environment, and the construction of call facts.
package final class HandlerContext: Sendable {
  let environment: Environment
  private let idempotencyKeys: IdempotencyKeys
  let callers: CallerDirectory
  private let failures: FailureLog

  package init(
    _ environment: Environment, idempotencyKeys: IdempotencyKeys, callers: CallerDirectory = CallerDirectory(),
    failures: FailureLog = FailureLog()
  ) {
    self.environment = environment
    self.failures = failures
    self.idempotencyKeys = idempotencyKeys
    self.callers = callers
  }

  /// Collects the facts of one call.
  ///
  /// - Parameter idempotencyKey: nil if the method takes none. Its text is empty if the client sent none.
  func facts(
    _ context: CallContext, _ message: Message, client: ClientContext? = nil, binding: String = "",
    idempotencyKey: IdempotencyKey? = nil
  ) throws -> CallFacts {
    let client = try Shape.client(client, sha256: environment.cryptography.sha256)
    return CallFacts(
      caller: context.caller.name, mayFetchByEmail: context.caller.mayFetchByEmail,
      mayMerge: context.caller.mayMerge,
      callerIdentified: context.caller.isIdentified, audiences: context.caller.audiences,
      redirectURIs: context.caller.redirectURIs,
      binding: try Shape.binding(binding).map(environment.cryptography.sha256),
      idempotency: try claim(idempotencyKey, context, message, guest: [binding, client.deviceID]),
      ipAddress: client.ipAddress, userAgent: client.userAgent, deviceID: client.deviceID,
      actor: context.actor, commitDecision: context.commitDecision, notes: context.notes, origin: context.origin,
      path: context.path, deadlineMillis: context.deadlineMillis)
  }

  private func claim(
    _ key: IdempotencyKey?, _ context: CallContext, _ message: Message, guest: [String]
  ) throws -> IdempotencyClaim? {
    guard let key, !key.text.isEmpty else { return nil }
    _ = try Shape.text(key.text, "idempotency_key", bytesMax: Shape.idempotencyKeyBytesMax)
    if key.isOfGuest, guest.allSatisfy(\.isEmpty) {
      throw Shape.invalid(
        "idempotency_key",
        "Send binding or client.device_id with the key, because an anonymous sign-in names no user.")
    }
    let span = message.bytes.span.extracting(message.start..<message.end)
    // Exclude `client`. A phone that retries may have moved from Wi-Fi to a mobile network, with another IP address.
    let request = try key.request.omitting("client", from: span)
    func names(_ keys: IdempotencyKeys) -> IdempotencyClaim.Names {
      IdempotencyClaim.Names(
        key: keys.key(
          caller: context.caller.name, method: context.path, key: key.text, guest: key.isOfGuest ? guest : []),
        request: keys.request(request))
    }
    let first = names(idempotencyKeys)
    return IdempotencyClaim(key: first.key, request: first.request, others: idempotencyKeys.others.map(names))
  }

  /// Notes a failure for administrators, and returns it. Handlers of sign-in calls throw the result.
  ///
  /// - Parameter attempt: what the request named.
  @inline(never)
  func noted(_ error: any Error, _ attempt: @autoclosure () -> FailedAttempt, _ call: CallFacts) -> any Error {
    if let failure = error as? Failure { failures.note(failure, attempt(), call, in: environment) }
    return error
  }

  /// Reads from the store, synchronously if the store can, otherwise as a task.
  func read<R: Reading>(
    _ reading: R, _ arena: Arena, _ encode: @escaping @Sendable (R.Answer) -> some ProtobufEncodable
  ) throws -> Work {
    if let answer = try environment.readNow(reading) { return .answer(encode(answer).encode(arena: arena)) }
    return .task { [environment] in encode(try await environment.read(reading)) }
  }
}

/// The idempotency key of a request, and the request's message type.
struct IdempotencyKey {
  let text: String
  let request: any ProtobufDecodable.Type
  /// Whether the call presents no credential.
  ///
  /// Such calls need a binding or device ID. Otherwise all users with the same key would share one account.
  let isOfGuest: Bool

  init(_ text: String, of request: any ProtobufDecodable.Type, isOfGuest: Bool = false) {
    self.text = text
    self.request = request
    self.isOfGuest = isOfGuest
  }
}
