internal import CProtobufC

/// A bump allocator that holds one message at a time and frees all its memory together.
///
/// protobuf-c decodes bytes of unauthenticated clients, so its allocations fail beyond the budget. Our own allocations
/// while encoding a response may spill into separate blocks, because a decided response must reach the client.
@safe
@usableFromInline
package final class Arena {
  /// Enough for every member of every generated struct (pointers and 64-bit numbers).
  static let alignment = 8

  /// Rounds a length up to the alignment, in bytes.
  static func rounded(_ byteCount: Int) -> Int { (byteCount + alignment - 1) & ~(alignment - 1) }

  package let budgetBytes: Int
  /// Maximum nesting depth of messages. protobuf-c has no limit and uses about one kilobyte of stack for each level.
  package let depthMax: Int
  /// Whether strings have limits on combining marks (`StreamSafeText`). Texts from clients must have them.
  let limitsMarks: Bool

  private let region: UnsafeMutablePointer<Region>
  private let allocator: UnsafeMutablePointer<ProtobufCAllocator>
  private var spilled: [UnsafeMutableRawPointer] = unsafe []

  /// Allocates the region.
  ///
  /// - Parameter budgetBytes: should be eight times the largest incoming message.
  package init(budgetBytes: Int, depthMax: Int = 32, limitsMarks: Bool = true) {
    self.budgetBytes = budgetBytes
    self.depthMax = depthMax
    self.limitsMarks = limitsMarks
    unsafe region = .allocate(capacity: 1)
    unsafe region.initialize(to: Region(byteCount: budgetBytes))
    unsafe allocator = .allocate(capacity: 1)
    // Single frees do nothing. The reset after each message frees everything.
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

  /// Frees all allocations. Pointers into the arena become invalid.
  @usableFromInline package func reset() {
    unsafe region.pointee.usedBytes = 0
    if unsafe spilled.isEmpty { return }
    for unsafe block in unsafe spilled { unsafe block.deallocate() }
    unsafe spilled = []
  }

  /// Allocates memory for a response, beyond the budget if necessary. Never fails.
  @usableFromInline func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
    if let inside = unsafe region.pointee.take(byteCount) { return unsafe inside }
    let block = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: Arena.alignment)
    unsafe spilled.append(block)
    return unsafe block
  }

  /// Unpacks the bytes with protobuf-c. Returns nil if protobuf-c rejects them or the budget is exceeded.
  func unpack(
    _ bytes: Span<UInt8>, _ schema: MessageSchema
  ) -> UnsafeMutableRawPointer? {
    unsafe bytes.withUnsafeBufferPointer { buffer in
      unsafe UnsafeMutableRawPointer(
        protobuf_c_message_unpack(schema.descriptor, allocator, buffer.count, buffer.baseAddress))
    }
  }
}

/// The memory block behind an arena, as protobuf-c's allocator callback sees it.
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
