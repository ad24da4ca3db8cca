internal import CProtobufC

/// The memory of one message at a time: a region that is handed out from its start and taken back as a whole.
///
/// What protobuf-c asks for while it reads a stranger's bytes fails at the budget. What we ask for ourselves while
/// writing an answer may spill over into blocks of their own, since an answer that was decided must leave.
@safe
package final class Arena {
  /// Enough for every member of every generated struct (pointers and 64-bit numbers).
  static let alignment = 8

  /// What a piece of this length takes.
  static func rounded(_ byteCount: Int) -> Int { (byteCount + alignment - 1) & ~(alignment - 1) }

  package let budgetBytes: Int
  /// How deep messages may nest; protobuf-c has no limit and takes about a kilobyte of stack a level.
  package let depthMax: Int

  private let region: UnsafeMutablePointer<Region>
  private let allocator: UnsafeMutablePointer<ProtobufCAllocator>
  private var spilled: [UnsafeMutableRawPointer] = unsafe []

  /// The budget should be eight times the largest message that may come in.
  package init(budgetBytes: Int, depthMax: Int = 32) {
    self.budgetBytes = budgetBytes
    self.depthMax = depthMax
    unsafe region = .allocate(capacity: 1)
    unsafe region.initialize(to: Region(byteCount: budgetBytes))
    unsafe allocator = .allocate(capacity: 1)
    // Nothing is given back one by one: the reset at the end of each message is what frees.
    unsafe allocator.initialize(
      to: ProtobufCAllocator(
        alloc: { region, size in unsafe region?.assumingMemoryBound(to: Region.self).pointee.take(size) },
        free: { _, _ in },
        allocator_data: region))
  }

  deinit {
    reset()
    unsafe region.pointee.base.deallocate()
    unsafe region.deallocate()
    unsafe allocator.deallocate()
  }

  var usedBytes: Int { unsafe region.pointee.usedBytes }

  /// Ends the life of everything handed out.
  func reset() {
    unsafe region.pointee.usedBytes = 0
    if unsafe spilled.isEmpty { return }
    for unsafe block in unsafe spilled { unsafe block.deallocate() }
    unsafe spilled = []
  }

  /// Memory for an answer of ours; never fails.
  func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
    if let inside = unsafe region.pointee.take(byteCount) { return unsafe inside }
    let block = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: Arena.alignment)
    unsafe spilled.append(block)
    return unsafe block
  }

  /// What protobuf-c makes of the bytes, or nil where it refuses them or the budget does.
  func unpack(
    _ bytes: Span<UInt8>, _ schema: MessageSchema
  ) -> UnsafeMutableRawPointer? {
    unsafe bytes.withUnsafeBufferPointer { buffer in
      unsafe UnsafeMutableRawPointer(
        protobuf_c_message_unpack(schema.descriptor, allocator, buffer.count, buffer.baseAddress))
    }
  }
}

/// The region as protobuf-c's callback sees it.
@safe
struct Region {
  let base: UnsafeMutableRawPointer
  let byteCount: Int
  var usedBytes = 0

  init(byteCount: Int) {
    unsafe base = .allocate(byteCount: byteCount, alignment: Arena.alignment)
    self.byteCount = byteCount
  }

  mutating func take(_ byteCount: Int) -> UnsafeMutableRawPointer? {
    guard byteCount >= 0, byteCount <= self.byteCount - usedBytes else { return nil }
    let start = unsafe base + usedBytes
    usedBytes += Arena.rounded(byteCount)
    return unsafe start
  }
}
