import Callers
import Crypto
import GRPC
import Store

extension FuzzTarget {
  /// Header fields, one in each line as `name: value`. An accepted request has all required fields. A rejection has
  /// trailers that any client can read.
  static let head = FuzzTarget("head", seeds: headSeeds) { input in
    var reader = HeadReader()
    var fields: [(name: [UInt8], value: [UInt8])] = []
    for line in input.split(separator: UInt8(ascii: "\n")) {
      guard let colon = line.dropFirst().firstIndex(of: UInt8(ascii: ":")) else { continue }
      let (name, value) = (line[..<colon], line[(colon + 1)...].drop { $0 == UInt8(ascii: " ") })
      fields.append((Array(name), Array(value)))
      reader.field(name: name.span, value: value.span)
    }
    switch reader.finish() {
    case .success(let head): checkAccepted(head, fields)
    case .failure(let refusal): checkReadable(refusal.status)
    }
  }

  private static func checkAccepted(_ head: RequestHead, _ fields: [(name: [UInt8], value: [UInt8])]) {
    func last(_ name: String) -> [UInt8]? { fields.last { $0.name == Array(name.utf8) }?.value }
    law(last(":method") == Array("POST".utf8), "accepted without POST")
    law(last("te") != nil, "accepted without te")
    law(last("content-type")?.starts(with: "application/grpc".utf8) == true, "accepted as another content")
    let authority = last(":authority") ?? last("host")
    law(authority?.isEmpty == false && authority?.contains { $0 <= 0x20 || $0 == 0x40 } == false, "without a host")
    law(head.path == last(":path") ?? [], "another path")
    law(head.authorization == last("authorization") ?? [], "another authorization")
    if let timeout = last("grpc-timeout") {
      law(head.timeoutMillis == referenceMillis(timeout), "\(timeout) became \(head.timeoutMillis ?? -1)")
    }
    for field in fields where field.name.suffix(4) == Array("-bin".utf8) {
      law(referenceIsBinaryList(field.value), "accepted metadata that is not base64")
    }
    checkCaller(head.authorization)
  }

  /// Only the one key in the table identifies a caller, in every spelling of the scheme.
  private static func checkCaller(_ authorization: [UInt8]) {
    let found = try? callers.identify(certificateName: nil, authorization: authorization, now: Timestamp(millis: 0))
    let text = String(decoding: authorization, as: UTF8.self)
    let isKey = text.hasSuffix(" lk_key") && text.lowercased() == "bearer lk_key"
    law(found == nil || (isKey && found?.name == CallerName("web")), "\(text) names a caller")
  }

  private static let callers = CallerTable(
    [
      CallerSettings(
        name: "web", apiKeys: [APIKeySettings(digest: Digest(sha256(Array("lk_key".utf8))))], methods: ["*"],
        audiences: ["a"])
    ],
    unidentified: nil, paths: ["/a.B/C"])

  static func checkReadable(_ status: Status) {
    law(status.code != .ok, "a refusal says OK")
    for field in status.fields {
      law(field.value.allSatisfy { (0x20...0x7E).contains($0) }, "\(field.name) of a rejection is not printable")
    }
  }
}
