import Encodings

/// The request header fields that the server uses.
package struct RequestHead: Sendable {
  /// `/package.Service/Method`.
  package internal(set) var path: [UInt8] = []
  /// The client's timeout in milliseconds; nil if the client sets none.
  package internal(set) var timeoutMillis: Int64?
  /// The value of `authorization`.
  package internal(set) var authorization: [UInt8] = []
  /// Whether `authorization` occurs more than once. RFC 9110 11.6.2 and 5.3 allow it once, so the value is ambiguous.
  package internal(set) var hasSeveralAuthorizations = false
  /// The value of `x-latchkey-actor`: the human for whom the caller acts.
  package internal(set) var actor: [UInt8] = []
  package internal(set) var hasSeveralActors = false
  /// The value of `x-forwarded-client-cert`. Several fields are one list (RFC 9110 5.3).
  package internal(set) var forwardedCertificate: [UInt8] = []
  /// The caller's trace; nil without a valid one.
  package internal(set) var traceParent: TraceParent?
  /// The caller's request ID; empty without a valid one.
  package internal(set) var requestID: [UInt8] = []
}

/// A parser for the header fields of a request, which validates them at the end.
package struct HeadReader {
  private var head = RequestHead()
  private var methodIsPost = false
  private var contentTypeIsGRPC = false
  private var hasTE = false
  private var hasAuthorization = false
  private var hasActor = false
  private var hasTraceParent = false
  private var authority: [UInt8]?
  private var host: [UInt8]?
  private var refusal: Refusal?

  package init() {}

  package mutating func field(name: Span<UInt8>, value: Span<UInt8>) {
    switch name.count {
    case 2 where name.isText("te"): hasTE = true
    case 4 where name.isText("host"): host = value.array
    case 5 where name.isText(":path"): head.path = value.array
    case 7 where name.isText(":method"): methodIsPost = value.isText("POST")
    case 10 where name.isText(":authority"): authority = value.array
    case 12 where name.isText("content-type"): contentTypeIsGRPC = HeadReader.isGRPC(value)
    case 12 where name.isText("grpc-timeout"): timeout(value)
    case 12 where name.isText("x-request-id"): head.requestID = RequestID.isValid(value) ? value.array : []
    case 11 where name.isText("traceparent"): traceParent(value)
    case 13 where name.isText("authorization"): authorization(value)
    case 13 where name.isText("grpc-encoding"): encoding(value)
    case 16 where name.isText("x-latchkey-actor"): actor(value)
    case 23 where name.isText("x-forwarded-client-cert"):
      if !head.forwardedCertificate.isEmpty { head.forwardedCertificate.append(UInt8(ascii: ",")) }
      head.forwardedCertificate += value.array
    case 4... where name.extracting(last: 4).isText("-bin"):
      guard !Base64.isValidList(value) else { break }
      refuse(Refusal(.internal, "illegal base64 in \(String(decoding: name.array, as: UTF8.self))"))
    default: break
    }
  }

  package func finish() -> Result<RequestHead, Refusal> {
    // First reject requests that are not gRPC, then report the first fault in header order.
    if !methodIsPost { return .failure(Refusal(.internal, "the method of a gRPC request is POST", form: .http(405))) }
    if !contentTypeIsGRPC {
      return .failure(Refusal(.internal, "the content-type of a gRPC request is application/grpc", form: .http(415)))
    }
    // `te: trailers` detects proxies that drop trailers. The gRPC C core resets such a stream too.
    if !hasTE { return .failure(Refusal(.internal, "no te: trailers", form: .reset)) }
    guard let name = authority ?? host, HeadReader.isWellFormed(name), host == nil || host! == name else {
      return .failure(
        Refusal(.internal, "the authority is missing, malformed or differs from the host", form: .http(400)))
    }
    if let refusal { return .failure(refusal) }
    return .success(head)
  }

  private mutating func refuse(_ refusal: Refusal) {
    if self.refusal == nil { self.refusal = refusal }
  }

  private mutating func authorization(_ value: Span<UInt8>) {
    if hasAuthorization { head.hasSeveralAuthorizations = true }
    hasAuthorization = true
    head.authorization = value.array
  }

  private mutating func actor(_ value: Span<UInt8>) {
    if hasActor { head.hasSeveralActors = true }
    hasActor = true
    head.actor = value.array
  }

  /// Reads a trace. Two fields are invalid (W3C Trace Context, section 3.2).
  private mutating func traceParent(_ value: Span<UInt8>) {
    head.traceParent = hasTraceParent ? nil : TraceParent(value)
    hasTraceParent = true
  }

  private mutating func timeout(_ value: Span<UInt8>) {
    guard let millis = Timeout.millis(value) else {
      return refuse(Refusal(.internal, "grpc-timeout is one to eight digits and a unit"))
    }
    head.timeoutMillis = millis
  }

  private mutating func encoding(_ value: Span<UInt8>) {
    guard !value.isText("identity") else { return }
    refuse(Refusal(.unimplemented, "the server accepts uncompressed messages only", namesEncodings: true))
  }

  /// Whether a content-type is `application/grpc`, optionally followed by `+` or `;` and more text.
  static func isGRPC(_ value: Span<UInt8>) -> Bool {
    let bytes = "application/grpc".utf8.count
    guard value.count >= bytes, value.extracting(first: bytes).isText("application/grpc") else { return false }
    guard value.count > bytes else { return true }
    let next = value[bytes]
    return next == UInt8(ascii: "+") || next == UInt8(ascii: ";")
  }

  /// Whether an authority is a host with an optional port, without user information and spaces (RFC 9113 8.3.1).
  static func isWellFormed(_ authority: [UInt8]) -> Bool {
    !authority.isEmpty
      && authority.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: "/") }
  }
}

/// The format of `grpc-timeout`: one to eight digits, then H, M, S, m, u or n.
package enum Timeout {
  /// Formats a timeout with at most eight digits. A longer timeout uses a larger unit, rounded up.
  package static func text(_ millis: Int64) -> String {
    let digitsMax = 99_999_999 as Int64
    let millis = max(0, millis)
    if millis <= digitsMax { return "\(millis)m" }
    for (unit, unitMillis) in [("S", 1_000), ("M", 60_000)] as [(String, Int64)]
    where (millis - 1) / unitMillis + 1 <= digitsMax {
      return "\((millis - 1) / unitMillis + 1)\(unit)"
    }
    return "\(min(digitsMax, (millis - 1) / 3_600_000 + 1))H"
  }

  /// Parses a timeout, or returns nil if it is malformed.
  ///
  /// Rounds up to whole milliseconds, so that the deadline is never earlier than the client's.
  package static func millis(_ value: Span<UInt8>) -> Int64? {
    guard (2...9).contains(value.count) else { return nil }
    var number: Int64 = 0
    for index in 0..<value.count - 1 {
      let digit = value[index]
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      number = number * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    switch value[value.count - 1] {
    case UInt8(ascii: "H"): return number * 3_600_000
    case UInt8(ascii: "M"): return number * 60_000
    case UInt8(ascii: "S"): return number * 1_000
    case UInt8(ascii: "m"): return number
    case UInt8(ascii: "u"): return (number + 999) / 1_000
    case UInt8(ascii: "n"): return (number + 999_999) / 1_000_000
    default: return nil
    }
  }
}
