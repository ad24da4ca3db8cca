internal import Reactor
internal import TLS

/// The bytes of one connection: TLS, or a plain socket to a server on the same machine.
enum ByteChannel {
  case tls(Channel)
  case plain(descriptor: Int32)

  func handshake() -> ChannelStep {
    switch self {
    case .tls(let channel): channel.handshake()
    case .plain: .done(0)
    }
  }

  /// Why the server's certificate was rejected, after a failed handshake.
  var refusal: String? { channel?.refusal }
  var isResumed: Bool { channel?.isResumed ?? false }
  var ticket: SessionTicket? { channel?.ticket }
  var hasPending: Bool { channel?.hasPending ?? false }
  /// A plain connection has no negotiation: client and server know that they speak HTTP/2.
  var speaksHTTP2: Bool { channel?.speaksHTTP2 ?? true }

  private var channel: Channel? { if case .tls(let channel) = self { channel } else { nil } }

  func write(_ bytes: ArraySlice<UInt8>) -> ChannelStep {
    switch self {
    case .tls(let channel): channel.write(bytes)
    case .plain(let descriptor): ByteChannel.step(send(bytes, to: descriptor), waiting: .wantWrite)
    }
  }

  func sayGoodbye() { channel?.sayGoodbye() }

  static func step(_ step: SocketStep, waiting: ChannelStep) -> ChannelStep {
    switch step {
    case .done(let count): .done(count)
    case .wait: waiting
    case .closed: .closed
    }
  }
}

extension ByteChannel {
  func read(into buffer: UnsafeMutableRawBufferPointer) -> ChannelStep {
    switch self {
    case .tls(let channel): return unsafe channel.read(into: buffer)
    case .plain(let descriptor):
      var bytes: [UInt8] = []
      let step = receive(from: descriptor, into: &bytes, bytesMax: buffer.count)
      unsafe buffer.copyBytes(from: bytes)
      return ByteChannel.step(step, waiting: .wantRead)
    }
  }
}
