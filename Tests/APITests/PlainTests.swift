import Testing

@testable import API
@testable import Protobuf

// The meaning of messages that an encoder with another schema, or an attacker, may send (protobuf encoding, "Unknown
// Fields" and "Last One Wins").

@Test func `unknown fields are dropped at every depth`() throws {
  let unknown: [UInt8] = [0x78, 0x01] + field(1000, "unknown") + [0x7d, 1, 2, 3, 4] + [0x79, 1, 2, 3, 4, 5, 6, 7, 8]
  let client = field(1, "192.0.2.1")
  let request = try RefreshRequest.decode(unknown + field(1, "token") + unknown + field(2, unknown + client) + unknown)
  #expect(request == RefreshRequest(refreshToken: "token", client: ClientContext(ipAddress: "192.0.2.1")))
}

@Test func `64 KiB of unknown fields cost nothing`() throws {
  var bytes: [UInt8] = []
  while bytes.count < 65536 { bytes += [0x78, 0x01] }
  #expect(try RefreshRequest.decode(bytes, arena: Arena(budgetBytes: 1024)) == RefreshRequest())
}

@Test func `a known field number with another wire type is an unknown field`() throws {
  #expect(try RefreshRequest.decode(field(1, value: 7) + field(2, value: 7)) == RefreshRequest())
  #expect(try LinkResponse.decode(field(4, "x")) == LinkResponse())
}

@Test func `the last of two values of a field counts`() throws {
  #expect(try RefreshRequest.decode(field(1, "first") + field(1, "second")).refreshToken == "second")
  #expect(try LinkResponse.decode(field(4, value: 1) + field(4, value: 0)).alreadyLinked == false)
}

@Test func `two parts of a message are merged`() throws {
  let parts = field(2, field(1, "address")) + field(1, "token") + field(2, field(2, "agent"))
  #expect(try RefreshRequest.decode(parts).client == ClientContext(ipAddress: "address", userAgent: "agent"))
  let seconds = field(1, field(1, value: 3))
  let nanos = field(1, field(2, value: 500_000_000))
  #expect(try RetryInfo.decode(seconds + nanos).retryDelayMillis == 3500)
  // A flag of the first part stays set if the second part omits it.
  #expect(try GetResponse.decode(field(1, field(3, value: 1)) + field(1, [])).account?.emailVerified == true)
}

@Test func `the lists in the parts of a message are joined in order, once`() throws {
  let parts = (1...300).flatMap { field(1, field(11, field(1, "p\($0)"))) }
  let providers = try #require(GetResponse.decode(parts).account).providers
  #expect(providers.map(\.providerID) == (1...300).map { "p\($0)" })
}

@Test func `the last member of a oneof counts`() throws {
  let password = field(1, field(1, "email")), anonymous = field(7, [])
  #expect(try Credential.decode(password + anonymous).kind == .anonymous(AnonymousCredential()))
  #expect(try Credential.decode(anonymous + password).kind == .password(PasswordCredential(email: "email")))
  let fetch = try FetchProvidersRequest.decode(field(1, "email") + field(2, "handle"))
  #expect(fetch.subject == .pendingToken("handle"))
}

@Test func `two parts of a oneof's message are merged, unless another member is between them`() throws {
  let email = field(1, field(1, "email")), secret = field(1, field(2, "secret")), anonymous = field(7, [])
  let both = PasswordCredential(email: "email", password: "secret")
  #expect(try Credential.decode(email + secret).kind == .password(both))
  #expect(try Credential.decode(email + anonymous + secret).kind == .password(PasswordCredential(password: "secret")))
}

@Test func `a message of 64 KiB in thousands of parts is read in one pass per level`() throws {
  var bytes: [UInt8] = []
  while bytes.count < 65536 { bytes += field(1, field(1, field(2, "x"))) }
  let request = try SignInRequest.decode(bytes, arena: Arena(budgetBytes: 8 * 1024 * 1024))
  #expect(request.credential?.kind == .password(PasswordCredential(password: "x")))
}
