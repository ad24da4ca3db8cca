import Store
import Testing

@testable import Server

@Test func `a change counts once it is the same in two checks`() {
  let (old, torn, new) = (digest(1), digest(2), digest(3))
  var change = SettledChange()
  var attempted = old
  let checks: [(present: Digest, isComplete: Bool)] = [
    (old, false), (torn, false), (new, false), (new, true), (new, false), (torn, false), (new, false),
  ]
  for check in checks {
    let isComplete = change.saw(check.present, attempted: attempted)
    #expect(isComplete == check.isComplete)
    if isComplete { attempted = check.present }
  }
}

private func digest(_ byte: UInt8) -> Digest { Digest([UInt8](repeating: byte, count: 32)) }
