internal import Reactor

/// The connections of one worker, by ticket. The ticket of a removed connection finds nothing, even if its slot is
/// reused.
struct ConnectionTable {
  private struct Slot {
    var generation: UInt32 = 0
    var connection: Connection?
  }

  private var slots: [Slot] = []
  private var freeSlots: [Int] = []

  subscript(ticket: Ticket) -> Connection? {
    let slot = Int(ticket.slot)
    guard slot < slots.count, slots[slot].generation == ticket.generation else { return nil }
    return slots[slot].connection
  }

  /// A snapshot, so connections may be added and removed during iteration.
  var all: [Connection] { slots.compactMap(\.connection) }

  /// Reserves the ticket of the next connection.
  mutating func reserve() -> Ticket {
    let slot = freeSlots.popLast() ?? slots.count
    if slot == slots.count { slots.append(Slot()) }
    return Ticket(slot: UInt32(slot), generation: slots[slot].generation)
  }

  mutating func insert(_ connection: Connection) { slots[Int(connection.ticket.slot)].connection = connection }

  mutating func remove(_ ticket: Ticket) {
    let slot = Int(ticket.slot)
    slots[slot].connection = nil
    slots[slot].generation &+= 1
    freeSlots.append(slot)
  }
}
