import Testing

@testable import GRPC

@Test func `an ordinary head is read completely`() throws {
  let head = try #require(
    Fields.usual.with("grpc-timeout", "250m").with("authorization", "Bearer key")
      .with("grpc-previous-rpc-attempts", "2").with("grpc-encoding", "identity").head)
  #expect(head.path == bytes("/a.B/C"))
  #expect(head.timeoutMillis == 250)
  #expect(head.authorization == bytes("Bearer key"))
}

@Test func `the human for whom a caller acts is read, and several names are detected`() throws {
  let one = Fields.usual.with("x-latchkey-actor", "carol@example.com")
  #expect(try #require(one.head).actor == bytes("carol@example.com"))
  #expect(try #require(one.head).hasSeveralActors == false)
  for second in ["dave", ""] {
    #expect(try #require(one.adding("x-latchkey-actor", second).head).hasSeveralActors, "\(second)")
  }
  #expect(try #require(Fields.usual.head).actor.isEmpty)
}

@Test func `several authorization fields are detected, whatever their values`() throws {
  #expect(try #require(Fields.usual.adding("authorization", "a").head).hasSeveralAuthorizations == false)
  for second in ["a", "b", ""] {
    let fields = Fields.usual.adding("authorization", "a").adding("authorization", second)
    #expect(try #require(fields.head).hasSeveralAuthorizations, "\(second)")
    let empty = Fields.usual.adding("authorization", "").adding("authorization", second)
    #expect(try #require(empty.head).hasSeveralAuthorizations, "\(second)")
  }
}

@Test(arguments: ["GET", "PUT", "HEAD", "post", "POSTS", "POS", ""])
func `R1: another method than POST gets HTTP 405 and INTERNAL`(method: String) throws {
  let refusal = try #require(Fields.usual.with(":method", method).refusal)
  #expect(refusal.status.code == .internal)
  #expect(refusal.form == .http(405))
}

@Test(arguments: ["application/grpc", "application/grpc+proto", "application/grpc+json", "application/grpc;charset=x"])
func `R2: application/grpc, then the end, a plus or a semicolon, is accepted`(type: String) {
  #expect(Fields.usual.with("content-type", type).head != nil)
}

@Test(arguments: ["application/grp", "application/grpcs", "application/grpc-web", "application/json", "text/plain", ""])
func `R2: another content type gets HTTP 415 and INTERNAL, as in the gRPC C core`(type: String) throws {
  let refusal = try #require(Fields.usual.with("content-type", type).refusal)
  #expect(refusal.status.code == .internal)
  #expect(refusal.form == .http(415))
}

@Test func `R2: a missing content type gets the same answer as another content type`() {
  #expect(Fields.usual.without("content-type").refusal?.form == .http(415))
}

@Test func `R3: a request without te is reset without an answer, as in the gRPC C core`() {
  #expect(Fields.usual.without("te").refusal?.form == .reset)
}

@Test func `requests that are not gRPC are rejected first, then other faults in the order of a request`() {
  let wrong = Fields.usual.with(":method", "GET").with("content-type", "text/html").without("te")
    .without(":authority").with("grpc-timeout", "x")
  #expect(wrong.refusal?.form == .http(405))
  #expect(wrong.with(":method", "POST").refusal?.form == .http(415))
  let typed = wrong.with(":method", "POST").with("content-type", "application/grpc")
  #expect(typed.refusal?.form == .reset)
  #expect(typed.with("te", "trailers").refusal?.form == .http(400))
  #expect(typed.with("te", "trailers").with(":authority", "a").refusal?.form == .trailersOnly)
}

@Test func `R12: a host without an authority replaces it, and a host that agrees changes nothing`() {
  #expect(Fields.usual.without(":authority").with("host", "example.test").head != nil)
  #expect(Fields.usual.with(":authority", "example.test").with("host", "example.test").head != nil)
}

@Test func `R12: a missing authority, or a host that disagrees with it, gets HTTP 400`() {
  #expect(Fields.usual.without(":authority").refusal?.form == .http(400))
  #expect(Fields.usual.with("host", "other.test").refusal?.form == .http(400))
  #expect(Fields.usual.with(":authority", "a").with("host", "A").refusal?.form == .http(400))
}

@Test(arguments: ["", "user@example.test", "example.test/", "exa mple.test", "example.test\u{7f}", "exämple.test"])
func `R12: a malformed authority gets HTTP 400`(authority: String) {
  #expect(Fields.usual.with(":authority", authority).refusal?.form == .http(400))
}

@Test(arguments: [
  ("1H", 3_600_000), ("2M", 120_000), ("3S", 3_000), ("4m", 4), ("0m", 0), ("00000007S", 7_000),
  ("99999999S", 99_999_999_000), ("99999999H", 359_999_996_400_000),
] as [(String, Int64)])
func `R5: one to eight digits and a unit are a deadline; the largest is far from overflowing`(
  text: String, millis: Int64
) {
  #expect(Fields.usual.with("grpc-timeout", text).head?.timeoutMillis == millis)
}

@Test(arguments: [
  ("0u", 0), ("1u", 1), ("1000u", 1), ("1001u", 2), ("0n", 0), ("1n", 1), ("1000000n", 1), ("1000001n", 2),
] as [(String, Int64)])
func `R5: finer units are rounded up: no deadline is earlier than the client's`(text: String, millis: Int64) {
  #expect(Fields.usual.with("grpc-timeout", text).head?.timeoutMillis == millis)
}

@Test func `R5: a call without grpc-timeout has no deadline`() throws {
  let head = try #require(Fields.usual.head)
  #expect(head.timeoutMillis == nil)
}

@Test(arguments: ["", "m", "1", "10", "1s", "1h", "1 m", " 1m", "1m ", "-1m", "+1m", "1.5S", "1mm", "123456789m", "１m"])
func `R5: a malformed grpc-timeout gets INTERNAL`(text: String) {
  #expect(Fields.usual.with("grpc-timeout", text).refusal?.status.code == .internal)
}

@Test(arguments: [
  "", "YQ", "YQ==", "YWI", "YWI=", "YWJj", "+/+/", "YQ,YWI=,,YWJj", "YQ==, YWI", " YQ ,\tYQ==\t", " ", ", ,",
])
func `R7: a -bin value is base64 with or without padding, and a list is split at its commas`(value: String) {
  #expect(Fields.usual.with("x-trace-bin", value).head != nil)
}

@Test(arguments: [
  "Y", "YWJjZ", "Y Q", "YQ===", "YQ=", "YWI==", "=", "==", "YQ==YQ==", "Y-_Q", "YQ,Y", "YQ;YQ", "Yä", "YQ= =", "Y Q==",
  "YQ==, Y", "YQ ==",
])
func `R7: bad base64 gets INTERNAL, and so does a list with one bad value`(value: String) throws {
  let refusal = try #require(Fields.usual.with("x-trace-bin", value).refusal)
  #expect(refusal.status.code == .internal)
  #expect(refusal.status.message.contains("x-trace-bin"))
}

@Test(arguments: ["-bin", "x-bin", "abcdef-bin", "abcdefgh-bin", "abcdefghi-bin", "abcdefghijklmnopqrstuv-bin"])
func `R7: the end of a name decides whether its value is binary, whatever the name's length`(name: String) {
  #expect(Fields.usual.with(name, "!").refusal?.status.code == .internal)
}

@Test func `R7: a name that only contains -bin is text`() {
  #expect(Fields.usual.with("x-binary", "!").head != nil)
}

@Test func `R8, R9: unknown and reserved names are ignored`() throws {
  let plain = try #require(Fields.usual.head)
  let noisy = try #require(
    Fields.usual.with("x-anything", "\u{1}ä").with("grpc-unheard-of", "1").with("grpc-status", "0").head)
  #expect(String(describing: noisy) == String(describing: plain))
}

@Test func `R10: each value of a repeated name is checked`() {
  #expect(Fields.usual.adding("x-bin", "YQ").adding("x-bin", "YWI").head != nil)
  #expect(Fields.usual.adding("x-bin", "YQ").adding("x-bin", "Y").refusal?.status.code == .internal)
}

@Test(arguments: ["gzip", "deflate", "snappy", "Identity", "", "identity,gzip"])
func `R16: another grpc-encoding than identity gets UNIMPLEMENTED and the accepted encodings`(encoding: String) throws {
  let refusal = try #require(Fields.usual.with("grpc-encoding", encoding).refusal)
  #expect(refusal.status.code == .unimplemented)
  #expect(refusal.form == .trailersOnly)
  #expect(refusal.namesEncodings)
}

@Test func `the first of several faults is reported`() {
  let fields = Fields.usual.with("grpc-encoding", "gzip").with("grpc-timeout", "x")
  #expect(fields.refusal?.status.code == .unimplemented)
}
