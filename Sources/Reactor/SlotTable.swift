// Public, because the compiler inlines only public functions into other modules. A worker looks up a ticket at every
// event, and without inlining each lookup would ask the runtime for the types involved.

/// A slot of a table, with a generation. Each use of a slot has a new generation, so that late events and timers of a
/// removed element find nothing.
@frozen public struct Ticket: Hashable, Sendable {
  public var slot: UInt32
  public var generation: UInt32

  @inlinable public init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }

  init(packed: UInt64) {
    slot = UInt32(truncatingIfNeeded: packed)
    generation = UInt32(truncatingIfNeeded: packed >> 32)
  }

  var packed: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
}

/// Elements by ticket. The ticket of a removed element finds nothing, even if its slot is in use again.
@frozen public struct SlotTable<Element> {
  @usableFromInline @frozen struct Slot {
    @usableFromInline var generation: UInt32 = 0
    @usableFromInline var element: Element?
    @inlinable init() {}
  }

  @usableFromInline var slots: [Slot] = []
  @usableFromInline var freeSlots: [Int] = []

  @inlinable public init() {}

  /// Number of elements and reserved slots.
  @inlinable public var count: Int { slots.count - freeSlots.count }
  @inlinable public var isEmpty: Bool { count == 0 }

  /// A snapshot, so that elements may be inserted and removed during iteration.
  @inlinable public var all: [Element] { slots.compactMap { $0.element } }

  @inlinable public subscript(ticket: Ticket) -> Element? {
    let slot = Int(ticket.slot)
    guard slot < slots.count, slots[slot].generation == ticket.generation else { return nil }
    return slots[slot].element
  }

  /// Returns the ticket of a future element. Until `insert` it finds nothing.
  @inlinable public mutating func reserve() -> Ticket {
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(Slot()) }
    return Ticket(slot: UInt32(slot), generation: slots[slot].generation)
  }

  /// Fills a reserved slot.
  @inlinable public mutating func insert(_ element: Element, at ticket: Ticket) {
    let slot = Int(ticket.slot)
    precondition(slots[slot].generation == ticket.generation, "the ticket is of an earlier element")
    slots[slot].element = element
  }

  @inlinable public mutating func insert(_ element: Element) -> Ticket {
    let ticket = reserve()
    insert(element, at: ticket)
    return ticket
  }

  /// Removes and returns an element, or gives up a reservation. Does nothing with the ticket of an earlier element.
  @discardableResult
  @inlinable public mutating func remove(_ ticket: Ticket) -> Element? {
    let slot = Int(ticket.slot)
    guard slot < slots.count, slots[slot].generation == ticket.generation else { return nil }
    slots[slot].generation &+= 1
    freeSlots.append(slot)
    return slots[slot].element.take()
  }
}
