import Testing

@testable import Configuration
@testable import Transport

@Test(arguments: [1_024, 65_536, 65_537, 4_194_304])
func `a message of the configured limit can arrive in parts`(configured: Int) throws {
  let limits = try settings(nested("limits.message_bytes_max", "\(configured)")).limits
  #expect(limits.messageBytesMax == configured && limits.heldRequestBytesMax >= configured + 5)
}

@Test(arguments: [
  ("*", true), ("latchkey.v1.AuthService/*", true), ("latchkey.v1.AuthService/SignIn", true),
  ("grpc.health.v1.Health/Check", true), ("latchkey.v1.AuthService/", false), ("latchkey.v1.AuthService", false),
  ("latchkey.v1.AuthService/SignIn/", false), ("latchkey.v1.*", false), ("", false), ("/", false), ("**", false),
  ("/latchkey.v1.AuthService/SignIn", false), ("latchkey.v1.AuthService/SignInRequest", false),
])
func `a pattern of rights that cannot match any method is recognized`(pattern: String, matches: Bool) {
  #expect(Settings.namesMethods(pattern) == matches)
}
