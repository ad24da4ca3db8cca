internal import GRPC
package import Admission
package import Identity
internal import Store
internal import API

/// What every service of the product works with: the domain, and the making of a call's facts.
package final class Desk: Sendable {
  let environment: Environment
  private let idempotencyKeys: IdempotencyKeys

  package init(_ environment: Environment, idempotencyKeys: IdempotencyKeys) {
    self.environment = environment
    self.idempotencyKeys = idempotencyKeys
  }

  /// The facts of one call. `idempotencyKey` is nil where the method takes none, its text empty where the client gave
  /// none.
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
      ipAddress: client.ipAddress, userAgent: client.userAgent, deviceID: client.deviceID, fate: context.fate)
  }

  private func claim(
    _ key: IdempotencyKey?, _ context: CallContext, _ message: Message, guest: [String]
  ) throws -> IdempotencyClaim? {
    guard let key, !key.text.isEmpty else { return nil }
    _ = try Shape.text(key.text, "idempotency_key", bytesMax: Shape.idempotencyKeyBytesMax)
    if key.isOfGuest, guest.allSatisfy(\.isEmpty) {
      throw Shape.invalid(
        "idempotency_key",
        "Send binding or client.device_id with the key: an anonymous sign-in has nothing else that names its user.")
    }
    let span = message.bytes.span.extracting(message.start..<message.end)
    // A telephone that repeats its call may have come from Wi-Fi to a cell meanwhile: the same request, from another
    // address.
    let request = try key.request.omitting("client", from: span)
    return IdempotencyClaim(
      key: idempotencyKeys.key(
        caller: context.caller.name, method: context.path, key: key.text, guest: key.isOfGuest ? guest : []),
      request: idempotencyKeys.request(request))
  }

  /// Answers on the spot where the store can, and as a task where it has to wait.
  func read<R: Reading>(
    _ reading: R, _ arena: Arena, _ encode: @escaping @Sendable (R.Answer) -> some ProtobufEncodable
  ) throws -> Work {
    if let answer = try environment.readNow(reading) { return .answer(encode(answer).encode(arena: arena)) }
    return .task { [environment] in encode(try await environment.read(reading)) }
  }
}

/// The key under which a request may be repeated, and what it came in.
struct IdempotencyKey {
  let text: String
  let request: any ProtobufDecodable.Type
  /// The call presents no credential. Without the name of a browser or device, all such calls would be equal, and all
  /// users behind one key would share one account.
  let isOfGuest: Bool

  init(_ text: String, of request: any ProtobufDecodable.Type, isOfGuest: Bool = false) {
    self.text = text
    self.request = request
    self.isOfGuest = isOfGuest
  }
}
