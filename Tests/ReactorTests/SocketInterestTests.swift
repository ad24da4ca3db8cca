import Reactor
import Testing

@Test func `a connection reads and writes when its socket is ready for it`() {
  let interest = SocketInterest(read: true, write: false)
  #expect(interest.mayRead(readable: true, writable: false) && !interest.mayRead(readable: false, writable: true))
  #expect(interest.mayWrite(readable: false, writable: true) && !interest.mayWrite(readable: true, writable: false))
}

@Test func `TLS that must write before it reads continues when the socket accepts bytes`() {
  var interest = SocketInterest(read: true, write: false)
  interest.needWriteToRead()
  #expect(interest.mayRead(readable: false, writable: true) && interest.waitsToWrite(hasOutput: false))
  interest.beginReading()
  #expect(!interest.mayRead(readable: false, writable: true) && !interest.waitsToWrite(hasOutput: false))
  #expect(interest.waitsToWrite(hasOutput: true))
}

@Test func `TLS that must read before it writes continues when bytes arrive`() {
  var interest = SocketInterest(read: true, write: false)
  interest.needReadToWrite()
  #expect(interest.mayWrite(readable: true, writable: false))
  interest.beginWriting()
  #expect(!interest.mayWrite(readable: true, writable: false))
}

@Test func `a muted connection is unmuted once, and records the time`() {
  var interest = SocketInterest(read: true, write: false)
  var unmuted = [interest.unmute(nowMillis: 5)]
  #expect(interest.unmutedMillis == 0)
  interest.mute()
  #expect(interest.isMuted)
  unmuted += [interest.unmute(nowMillis: 7), interest.unmute(nowMillis: 9)]
  #expect(unmuted == [false, true, false] && !interest.isMuted && interest.unmutedMillis == 7)
}

@Test func `epoll changes only when the events do`() {
  var interest = SocketInterest(read: true, write: false)
  let changes = [(true, false), (true, true), (true, true), (false, true), (true, false)]
    .map { interest.watch(read: $0.0, write: $0.1) }
  #expect(changes == [false, true, false, true, true])
}

@Test func `output is sent in parts, and its buffer is reused or released`() {
  var output = SocketOutput()
  output.bytes += [1, 2, 3]
  output.accepted(2)
  #expect(output.unsentBytes == 1 && output.offset == 2)
  output.accepted(1)
  #expect(output.unsentBytes == 0 && output.acceptedBytes == 3)
  output.clear()
  #expect(output.offset == 0 && output.bytes.isEmpty && output.bytes.capacity >= 3)
  output.clear(keepingUpTo: 0)
  #expect(output.bytes.capacity == 0)
  output.bytes += [4]
  output.accepted(1)
  let buffer = output.takeBuffer()
  #expect(buffer == [4] && output.unsentBytes == 0 && output.offset == 0 && output.acceptedBytes == 4)
}
