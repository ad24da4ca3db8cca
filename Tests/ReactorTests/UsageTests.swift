import CLinux
import TestSupport
import Testing

@testable import Reactor

@Test func `the process reports its resource usage`() throws {
  let usage = ProcessUsage.now()
  #expect(try #require(usage.residentBytes) > 1 << 20)
  #expect(try #require(usage.cpuNanos) > 0)
  #expect(try #require(usage.descriptorsMax) >= #require(usage.openDescriptors))
}

/// The open descriptors, found by checking each possible one.
private func openDescriptors() -> Int { (0..<4_096).count { lk_local_port($0) != -EBADF } }

@Test func `every open descriptor is counted, except the one used for counting`() async {
  var held: [Int32] = []
  for _ in 0..<3 {
    // Other threads of the test runner use descriptors too. It is enough that the two counts become equal once.
    let agree = await eventually { ProcessUsage.now().openDescriptors == openDescriptors() }
    #expect(agree)
    held.append(lk_eventfd())
  }
  for descriptor in held { lk_close(descriptor) }
}
