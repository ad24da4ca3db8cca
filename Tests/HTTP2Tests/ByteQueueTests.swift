import Testing

@testable import HTTP2

private func append(_ bytes: [UInt8], to queue: inout ByteQueue) {
  unsafe bytes.withUnsafeBufferPointer { unsafe queue.append($0) }
}

@Test func `bytes leave in the order of their arrival, however they are taken`() {
  var queue = ByteQueue()
  var (came, left): ([UInt8], [UInt8]) = ([], [])
  var next: UInt8 = 0
  for round in 0..<200 {
    let more = (0..<round % 7).map { _ in
      next &+= 1
      return next
    }
    came += more
    if round % 2 == 0 { queue.append(more) } else { append(more, to: &queue) }
    #expect(queue.count == came.count - left.count)
    switch round % 5 {
    case 0: left += queue.take(most: round % 3)
    case 1 where round % 10 == 1: left += queue.takeAll()
    default:
      let count = min(queue.count, 2)
      left += unsafe [UInt8](unsafeUninitializedCapacity: 2) { room, filled in
        if count > 0 { unsafe queue.take(into: room.baseAddress!, count: count) }
        filled = count
      }
    }
  }
  left += queue.takeAll()
  #expect(left == came && queue.count == 0 && queue.keptCount == 0)
}

@Test func `the queue frees bytes that were taken, even if it never becomes empty`() {
  var (parts, arrays) = (ByteQueue(), ByteQueue())
  let window = [UInt8](repeating: 1, count: 65_536)
  append(window, to: &parts)
  arrays.append(window)
  for _ in 0..<1_000 {
    // Like a streaming call that takes one of many queued messages, while the client refills its window immediately.
    for _ in 0..<100 { #expect(parts.take(most: 512).count == 512) }
    append([UInt8](repeating: 2, count: 51_200), to: &parts)
    #expect(arrays.take(most: 65_535).count == 65_535)
    arrays.append([UInt8](repeating: 3, count: 65_535))
    #expect(parts.count == 65_536 && arrays.count == 65_536)
    #expect(parts.keptCount <= 2 * 65_536 + 51_200 && arrays.keptCount <= 2 * 65_536)
  }
}
