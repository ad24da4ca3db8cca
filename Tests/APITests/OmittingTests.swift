import Testing

@testable import API
@testable import Protobuf

private let credential = field(1, field(1, field(1, "email")))
private let key = field(4, "key")
private let client = field(5, field(1, "192.0.2.1"))

private func kept(_ bytes: [UInt8]) throws(ProtobufError) -> [UInt8] {
  try SignInRequest.omitting("client", from: bytes.span)
}

@Test func `every occurrence of the field is left out`() throws {
  let rest = credential + key, again = field(5, field(2, "agent")), empty = field(5, [])
  let messages: [[UInt8]] = [
    client + rest, credential + client + key, rest + client, client + credential + again + key + empty,
  ]
  for bytes in messages { #expect(try kept(bytes) == rest) }
  #expect(try kept(client + again).isEmpty)
}

@Test func `all other fields stay in their order`() throws {
  let inside = field(1, field(5, field(1, "email"))), unknown = field(1000, "unknown")
  let otherWireType = field(5, value: 7)
  let messages: [[UInt8]] = [
    [], key, key + credential, credential + key + credential, inside, unknown + key, otherWireType + key,
  ]
  for bytes in messages { #expect(try kept(bytes) == bytes) }
  let without = field(1, "token")
  let whole = try GetRequest.omitting("client", from: without.span)
  #expect(whole == without)
}

@Test func `messages that differ in another field still differ`() throws {
  let messages: [[UInt8]] = [
    field(2, "ab") + field(4, "c"), field(2, "a") + field(4, "bc"), field(2, "abc"), field(4, "abc"), field(4, "c"),
    field(2, "a") + field(5, field(4, "bc")), field(5, field(2, "ab")) + field(6, "c"), field(2, field(5, "")),
    field(2, "") + field(5, ""), [],
  ]
  let left = try messages.map { try kept($0) }
  #expect(Set(left).count == messages.count)
}

@Test func `bytes that are not a message are rejected`() {
  #expect(throws: ProtobufError.malformed(.length)) { try kept(key + [0x2a, 5]) }
}

@Test func `every message with an idempotency key has the field client`() throws {
  var names: [String] = []
  func look<M: Mapped & Message>(_ message: M) {
    let fields = (0..<M.schema.fieldCount).map { M.schema[$0] }
    guard fields.contains(where: { $0.name == "idempotency_key" }) else { return }
    names.append(M.messageName)
    let clients = fields.filter { $0.isMessage && $0.message.name == ClientContext.messageName }
    #expect(clients.map { $0.name } == ["client"], "\(M.messageName)")
  }
  for sample in Samples.all {
    let mirror = try #require(sample as? any Mapped & Message)
    look(mirror)
  }
  #expect(Set(names).count == 17)
}
