internal import Reactor
internal import TLS

/// The way to one client: plain, or through TLS. It does not own the descriptor.
struct HTTPSocket {
  enum Step {
    /// This many bytes were moved (for a handshake: it is complete).
    case done(Int)
    case wantRead
    case wantWrite
    /// The client is gone, or what it says cannot be understood.
    case closed
  }

  let descriptor: Int32
  /// nil: plain.
  private let channel: Channel?

  /// - Parameter tls: nil: plain. nil as a result: memory lacks.
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

  /// Says that no more is sent. What the client still sends is of no interest and need not be deciphered.
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
