/// Queue of members that wait for a share of a reactor's turn, first in, first out. A member with more work queues
/// again.
struct ReadyList<Member> {
  private var members: [Member] = []
  private var first = 0

  var count: Int { members.count - first }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ member: Member) { members.append(member) }

  mutating func next() -> Member? {
    guard first < members.count else { return nil }
    defer {
      first += 1
      if first == members.count {
        members.removeAll(keepingCapacity: true)
        first = 0
      } else if first >= 256, first * 2 >= members.count {
        members.removeFirst(first)
        first = 0
      }
    }
    return members[first]
  }
}
