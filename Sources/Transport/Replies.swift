internal import GRPC
internal import HTTP2

/// Header lists of responses. Those that every call uses are built once.
enum Replies {
  private static let grpc = (name: "content-type", value: Array("application/grpc".utf8))

  static let head = [status(200), grpc]
  static let okTrailers = PreparedHeaders(Status(.ok).fields)

  static func trailersOnly(_ status: Status, _ trace: CallTrace? = nil) -> PreparedHeaders {
    PreparedHeaders(head + (trace?.fields ?? []) + status.fields)
  }

  static func refusal(_ refusal: Refusal) -> PreparedHeaders {
    var fields = [status(200), grpc]
    if case .http(let code) = refusal.form {
      fields[0] = status(code)
      // RFC 9110 section 15.5.6.
      if code == 405 { fields.append(("allow", Array("POST".utf8))) }
    }
    fields += refusal.status.fields
    if refusal.namesEncodings { fields.append(("grpc-accept-encoding", Array("identity".utf8))) }
    return PreparedHeaders(fields)
  }

  private static func status(_ code: Int) -> (name: String, value: [UInt8]) { (":status", Array(String(code).utf8)) }
}
