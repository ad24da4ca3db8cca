@testable import GRPC

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The request headers of a stock client, with changes by a test.
struct Fields {
  private(set) var list: [(name: String, value: [UInt8])] = [
    (":method", bytes("POST")), (":scheme", bytes("https")), (":path", bytes("/a.B/C")),
    (":authority", bytes("localhost:7443")), ("te", bytes("trailers")), ("content-type", bytes("application/grpc")),
  ]

  static let usual = Fields()

  func with(_ name: String, _ value: String) -> Fields { with(name, bytes(value)) }

  /// Replaces the field of that name, or appends it.
  func with(_ name: String, _ value: [UInt8]) -> Fields {
    var copy = self
    if let index = list.firstIndex(where: { $0.name == name }) {
      copy.list[index].value = value
    } else {
      copy.list.append((name, value))
    }
    return copy
  }

  func adding(_ name: String, _ value: String) -> Fields {
    var copy = self
    copy.list.append((name, bytes(value)))
    return copy
  }

  func without(_ name: String) -> Fields {
    var copy = self
    copy.list.removeAll { $0.name == name }
    return copy
  }

  func read() -> Result<RequestHead, Refusal> {
    var reader = HeadReader()
    for field in list { reader.field(bytes(field.name), field.value) }
    return reader.finish()
  }

  var head: RequestHead? { try? read().get() }

  var refusal: Refusal? {
    if case .failure(let refusal) = read() { refusal } else { nil }
  }
}

extension HeadReader {
  mutating func field(_ name: [UInt8], _ value: [UInt8]) { field(name: name.span, value: value.span) }
}

extension AnswerReader {
  mutating func field(_ name: [UInt8], _ value: [UInt8]) { field(name: name.span, value: value.span) }
}

/// A message with its five-byte gRPC header.
func framed(_ message: [UInt8], flag: UInt8 = 0) -> [UInt8] { frameHead(flag, message.count) + message }

func frameHead(_ flag: UInt8, _ length: Int) -> [UInt8] {
  [flag] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
}

extension Message {
  var content: [UInt8] { Array(bytes[start..<end]) }
}

/// A step in a form that can be compared.
enum Seen: Equatable {
  case wait
  case refused(Status.Code)
  case ready([UInt8])
  case messages([[UInt8]], last: Bool)

  init(_ step: Call.Step) {
    self = switch step {
    case .wait: .wait
    case .refuse(let refusal): .refused(refusal.status.code)
    case .ready(let message): .ready(message.content)
    case .messages(let messages, let last): .messages(messages.map(\.content), last: last)
    }
  }
}

func call(limit: Int = 64, streams: Bool = false, takesOne: Bool = false) -> Call {
  Call(messageBytesMax: limit, streams: streams, takesOne: takesOne)
}

extension Call {
  mutating func take(_ bytes: [UInt8], ended: Bool = false) -> Seen { Seen(received(bytes, ended: ended)) }
}
