internal import CLinux

/// Resources that this process uses. nil: the kernel does not report the value.
package struct ProcessUsage: Sendable {
  package var residentBytes: Int?
  /// Processor time of all threads, in user and kernel mode, in nanoseconds.
  package var cpuNanos: Int?
  package var openDescriptors: Int?
  package var descriptorsMax: Int?

  package static func now() -> ProcessUsage {
    func known(_ number: Int64) -> Int? { number >= 0 ? Int(number) : nil }
    let usage = lk_process_usage()
    return ProcessUsage(
      residentBytes: known(usage.resident_bytes), cpuNanos: known(usage.cpu_nanos),
      openDescriptors: known(usage.descriptors), descriptorsMax: known(usage.descriptors_max))
  }
}
