internal import Reactor
internal import TLS

/// Socket of one client, plain or with TLS. It does not own the descriptor.
struct HTTPSocket {
  enum Step {
    /// This number of bytes was transferred, or the handshake is complete.
    case done(Int)
    case wantRead
    case wantWrite
    /// The client has gone or its data is invalid.
    case closed
  }

  let descriptor: Int32
  /// TLS channel; `nil` for a plain socket.
  private let channel: Channel?

  /// Returns `nil` if memory is exhausted.
  /// - Parameter tls: TLS context; `nil` for a plain socket.
  init?(_ descriptor: Int32, tls: CurrentContext?) {
    self.descriptor = descriptor
    channel = tls.flatMap { Channel($0.context, descriptor: descriptor) }
    if tls != nil, channel == nil { return nil }
  }

  func handshake() -> Step {
    guard let channel else { return .done(0) }
    return step(channel.handshake())
  }

  func read(into bytes: inout [UInt8], bytesMax: Int) -> Step {
    if let channel { return step(channel.read(into: &bytes, bytesMax: bytesMax)) }
    return step(receive(from: descriptor, into: &bytes, bytesMax: bytesMax), waitsFor: .wantRead)
  }

  func write(_ bytes: ArraySlice<UInt8>) -> Step {
    if let channel { return step(channel.write(bytes)) }
    return step(send(bytes, to: descriptor), waitsFor: .wantWrite)
  }

  /// Ends sending. Further input of the client is ignored and need not be decrypted.
  func sayGoodbye() {
    channel?.sayGoodbye()
    endSending(to: descriptor)
  }

  private func step(_ step: ChannelStep) -> Step {
    switch step {
    case .done(let count): .done(count)
    case .wantRead: .wantRead
    case .wantWrite: .wantWrite
    case .closed, .failed, .tooManyKeyUpdates: .closed
    }
  }

  private func step(_ step: SocketStep, waitsFor wait: Step) -> Step {
    switch step {
    case .done(let count): .done(count)
    case .wait: wait
    case .closed: .closed
    }
  }
}
