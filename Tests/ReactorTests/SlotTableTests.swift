import Testing

@testable import Reactor

@Suite struct SlotTableTests {
  @Test func `a ticket finds its element until that is removed`() {
    var table = SlotTable<String>()
    let (ann, bob) = (table.insert("ann"), table.insert("bob"))
    #expect(table[ann] == "ann" && table[bob] == "bob" && table.count == 2)
    #expect(table.remove(ann) == "ann")
    #expect(table[ann] == nil && table[bob] == "bob" && table.count == 1)
    #expect(table.remove(ann) == nil && table.count == 1, "a second time there is nothing to remove")
  }

  @Test func `a slot in use again has another generation, and the earlier ticket finds nothing`() {
    var table = SlotTable<String>()
    let earlier = table.insert("ann")
    table.remove(earlier)
    let later = table.insert("bob")
    #expect(later.slot == earlier.slot && later.generation == earlier.generation + 1)
    #expect(table[earlier] == nil && table[later] == "bob")
    #expect(table.remove(earlier) == nil)
    #expect(table[later] == "bob", "a late removal takes nothing from the present element")
  }

  @Test func `a reserved slot finds nothing until it is filled, and is given to no other`() {
    var table = SlotTable<String>()
    let reserved = table.reserve()
    #expect(table[reserved] == nil && table.all == [] && !table.isEmpty)
    #expect(table.insert("bob").slot != reserved.slot)
    table.insert("ann", at: reserved)
    #expect(table[reserved] == "ann" && table.all == ["ann", "bob"])
    let unused = table.reserve()
    #expect(table.remove(unused) == nil)
    #expect(table.reserve().slot == unused.slot)
  }

  @Test func `elements may be removed and inserted while all are visited`() {
    var table = SlotTable<Int>()
    let tickets = (0..<5).map { table.insert($0) }
    var visited: [Int] = []
    for element in table.all {
      visited.append(element)
      table.remove(tickets[element])
      if element == 2 { _ = table.insert(10) }
    }
    #expect(visited == [0, 1, 2, 3, 4])
    #expect(table.all == [10])
  }

  @Test func `a removed element is released, and a table without elements is empty`() {
    final class Thing {}
    var table = SlotTable<Thing>()
    weak var weakly: Thing?
    let ticket: Ticket
    do {
      let thing = Thing()
      weakly = thing
      ticket = table.insert(thing)
    }
    #expect(weakly != nil && !table.isEmpty)
    table.remove(ticket)
    #expect(weakly == nil && table.isEmpty)
  }

  @Test(arguments: [
    Ticket(slot: 0, generation: 0), Ticket(slot: 7, generation: 0), Ticket(slot: .max, generation: .max),
  ])
  func `a ticket that the table never issued finds nothing`(ticket: Ticket) {
    var table = SlotTable<Int>()
    #expect(table[ticket] == nil)
    #expect(table.remove(ticket) == nil)
  }
}
