internal import CLinux

/// An epoll instance, level-triggered. The events of a descriptor carry its ticket.
@safe final class Epoll {
  struct Event {
    let ticket: Ticket
    let isReadable: Bool
    let isWritable: Bool
    /// The peer has hung up, or the socket has an error.
    let isBroken: Bool
  }

  /// Readable while an event is ready, so that another instance can watch this one.
  let descriptor: Int32
  private let ready: UnsafeMutableBufferPointer<lk_ready>

  /// - Parameter eventsMax: maximum number of events of one `wait`, at most 256. The next one returns the others.
  init(eventsMax: Int) throws(SystemError) {
    let descriptor = lk_epoll_create()
    guard descriptor >= 0 else { throw SystemError(code: -descriptor, call: "epoll_create1") }
    self.descriptor = descriptor
    unsafe ready = .allocate(capacity: eventsMax)
    unsafe ready.initialize(repeating: lk_ready())
  }

  deinit {
    unsafe ready.deallocate()
    lk_close(descriptor)
  }

  func add(_ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws(SystemError) {
    try control(LK_ADD, descriptor, ticket, read: read, write: write)
  }

  func change(_ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool) throws(SystemError) {
    try control(LK_CHANGE, descriptor, ticket, read: read, write: write)
  }

  func remove(_ descriptor: Int32) throws(SystemError) {
    try control(LK_REMOVE, descriptor, Ticket(slot: 0, generation: 0), read: false, write: false)
  }

  /// Waits for events and returns their number.
  /// - Parameter timeoutMillis: how long to wait for the first event; -1: without limit.
  func wait(timeoutMillis: Int32) -> Int {
    let count = unsafe lk_epoll_wait(descriptor, ready.baseAddress, Int32(ready.count), timeoutMillis)
    precondition(count >= 0, "epoll_wait failed, which indicates a bug: errno \(-count)")
    return Int(count)
  }

  /// Returns an event of the last `wait`.
  subscript(index: Int) -> Event {
    let event = unsafe ready[index]
    return Event(
      ticket: Ticket(packed: event.ticket), isReadable: event.flags & UInt32(LK_READ) != 0,
      isWritable: event.flags & UInt32(LK_WRITE) != 0, isBroken: event.flags & UInt32(LK_HANGUP) != 0)
  }

  private func control(
    _ operation: Int, _ descriptor: Int32, _ ticket: Ticket, read: Bool, write: Bool
  ) throws(SystemError) {
    let flags = (read ? UInt32(LK_READ) : 0) | (write ? UInt32(LK_WRITE) : 0)
    let result = lk_epoll_control(self.descriptor, Int32(operation), descriptor, flags, ticket.packed)
    guard result == 0 else { throw SystemError(code: -result, call: "epoll_ctl") }
  }
}
