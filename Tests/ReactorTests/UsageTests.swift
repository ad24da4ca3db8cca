import CLinux
import Testing

@testable import Reactor

@Test func `the process says what it uses`() throws {
  let usage = ProcessUsage.now()
  #expect(try #require(usage.residentBytes) > 1 << 20)
  #expect(try #require(usage.cpuNanos) > 0)
  #expect(try #require(usage.descriptorsMax) >= #require(usage.openDescriptors))
}

@Test func `every open descriptor is counted, and not that by which they are counted`() async {
  // In a process of its own, where no other test opens any.
  await #expect(processExitsWith: .success) {
    for _ in 0..<3 {
      let isOpen = { (descriptor: Int32) in lk_local_port(descriptor) != -EBADF }
      #expect(ProcessUsage.now().openDescriptors == (0..<4_096).count { isOpen($0) })
      _ = lk_eventfd()
    }
  }
}
