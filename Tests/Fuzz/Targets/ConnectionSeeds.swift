extension FuzzTarget {
  /// Valid exchanges of a client with the server, and some invalid ones.
  static var connectionSeeds: [Seed] {
    let check = "/grpc.health.v1.Health/Check"
    let nothing = ClientFrames.message([])
    let list = ClientFrames.message([0x3A, 0x01, 0x2A])
    let symbol = ClientFrames.message([0x22, 0x0B] + Array("latchkey.v1".utf8))
    let unary = ClientFrames.request(1, check) + ClientFrames.data(1, nothing)
    let exchanges: [(String, [UInt8])] = [
      ("check", unary),
      ("two", unary + ClientFrames.request(3, check) + ClientFrames.data(3, nothing)),
      ("watch", ClientFrames.request(1, "/grpc.health.v1.Health/Watch") + ClientFrames.data(1, nothing, ends: false)),
      ("late", ClientFrames.request(1, "/fuzz.Late/Answer") + ClientFrames.data(1, nothing) + ping),
      ("late-reset", ClientFrames.request(1, "/fuzz.Late/Answer") + ClientFrames.data(1, nothing) + reset(1) + ping),
      ("reflection", ClientFrames.request(1, reflection) + ClientFrames.data(1, list, ends: false)
        + ClientFrames.data(1, symbol + list)),
      ("no-method", ClientFrames.request(1, "/no.Such/Method") + ClientFrames.data(1, nothing)),
      ("head-only", ClientFrames.request(1, check, ends: true)),
      ("metadata", ClientFrames.request(1, check, [("grpc-timeout", "1S"), ("x-bin", "AAE=")])
        + ClientFrames.data(1, nothing)),
      ("trailers", ClientFrames.request(1, check) + ClientFrames.data(1, nothing, ends: false)
        + ClientFrames.frame(1, flags: 5, stream: 1, ClientFrames.block([("x", "y")]))),
      ("continuation", ClientFrames.frame(1, flags: 0, stream: 1, Array(requestBlock.prefix(30)))
        + ClientFrames.frame(9, flags: 4, stream: 1, Array(requestBlock.dropFirst(30)))),
      ("padding", ClientFrames.frame(1, flags: 12, stream: 1, [3] + requestBlock + [0, 0, 0])
        + ClientFrames.frame(0, flags: 9, stream: 1, [2] + nothing + [0, 0])),
      ("no-window", ClientFrames.frame(4, [0, 4, 0, 0, 0, 0]) + unary + window(9, stream: 1)),
      ("windows", unary + window(65_535) + window(0, stream: 1)),
      ("table", ClientFrames.frame(4, [0, 1, 0, 0, 0, 0, 0, 5, 0, 0, 64, 0]) + unary),
      ("priority", ClientFrames.frame(2, stream: 1, [0, 0, 0, 0, 15]) + unary),
      ("pings", ping + ping + ping + ping),
      ("go-away", unary + ClientFrames.frame(7, ClientFrames.big(1) + ClientFrames.big(0))),
      ("resets", unary + reset(1) + ClientFrames.request(5, check) + reset(5) + ClientFrames.request(3, check)),
      ("empty-data", ClientFrames.request(1, check) + ClientFrames.data(1, [], ends: false)
        + ClientFrames.data(1, nothing)),
      ("unknown-frame", ClientFrames.frame(0xEE, flags: 0xFF, stream: 1, [1, 2, 3]) + unary),
      ("big-frame", [0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]),
    ]
    let plain: [Seed] = exchanges.map { Seed($0, [1, 255, 255, 255, 255] + $1) }
    return plain + [
      Seed("bytewise", [1, 0, 0, 0, 0] + unary), Seed("drains", [3, 8, 20, 40, 3] + unary + ping + unary),
      Seed("slow", [5, 30, 20, 40, 3] + unary + ping + ping), Seed("pauses", [9, 30, 20, 40, 3] + unary + ping + ping),
      Seed("shuts-down", [3, 8, 20, 40, 3] + unary + noticeAnswer + unary),
      Seed("from-the-preface", [0, 9, 99, 9, 99] + ClientFrames.greeting + unary),
    ]
  }

  private static let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
  private static let ping = ClientFrames.frame(6, [1, 2, 3, 4, 5, 6, 7, 8])
  private static let noticeAnswer = ClientFrames.frame(6, flags: 1, Array("shutdown".utf8))
  private static let requestBlock = Array(ClientFrames.request(1, "/grpc.health.v1.Health/Check").dropFirst(9))

  private static func window(_ increment: UInt32, stream: UInt32 = 0) -> [UInt8] {
    ClientFrames.frame(8, stream: stream, ClientFrames.big(increment))
  }

  private static func reset(_ stream: UInt32) -> [UInt8] { ClientFrames.frame(3, stream: stream, ClientFrames.big(8)) }
}
