/// Where the structs and texts of one request live until the stub has packed it: a region taken from its start, and
/// as a whole again for the next request.
@safe
final class Scratch {
  /// Two tokens of the longest kind that the server takes, and the rest of any request.
  private static let bytesMax = 65_536

  private let base = UnsafeMutableRawPointer.allocate(byteCount: bytesMax, alignment: 16)
  private var used = 0

  deinit { unsafe base.deallocate() }

  func reset() { used = 0 }

  /// An initialised struct of protobuf-c.
  func form<Form>(_ initialize: (UnsafeMutablePointer<Form>?) -> Void) -> UnsafeMutablePointer<Form> {
    let form = unsafe reserve(MemoryLayout<Form>.size).bindMemory(to: Form.self, capacity: 1)
    unsafe initialize(form)
    return unsafe form
  }

  func text(_ value: String) -> UnsafeMutablePointer<CChar> {
    var value = value
    return value.withUTF8 { utf8 in
      let copy = unsafe reserve(utf8.count + 1).bindMemory(to: CChar.self, capacity: utf8.count + 1)
      unsafe UnsafeMutableRawBufferPointer(start: copy, count: utf8.count).copyBytes(from: utf8)
      unsafe copy[utf8.count] = 0
      return unsafe copy
    }
  }

  /// Pointers one after the other, as a repeated field takes them.
  func list<Form>(_ items: [UnsafeMutablePointer<Form>]) -> UnsafeMutablePointer<UnsafeMutablePointer<Form>?> {
    let list = unsafe reserve(max(1, items.count) * MemoryLayout<UnsafeMutablePointer<Form>?>.stride)
      .bindMemory(to: UnsafeMutablePointer<Form>?.self, capacity: items.count)
    for index in unsafe items.indices { unsafe (list + index).initialize(to: items[index]) }
    return unsafe list
  }

  private func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
    let start = (used + 15) & ~15
    precondition(start + byteCount <= Scratch.bytesMax, "the files that texts are read from bound them")
    used = start + byteCount
    return unsafe base + start
  }
}
