import FoundationEssentials
import FuzzTargets
import Glibc

// libFuzzer calls these two functions by name. It uses the command line itself, so environment variables select the
// work: LATCHKEY_FUZZ_TARGET names a target; LATCHKEY_FUZZ_SEEDS names a folder for the seeds of all targets, which are
// written instead of fuzzing.

private let environment = ProcessInfo.processInfo.environment

private let target: FuzzTarget = {
  let names = FuzzTarget.all.map(\.name)
  guard let found = FuzzTarget.named(environment["LATCHKEY_FUZZ_TARGET"] ?? "") else {
    fatalError("LATCHKEY_FUZZ_TARGET must be one of \(names.joined(separator: " "))")
  }
  return found
}()

@_cdecl("LLVMFuzzerInitialize")
public func initialize(
  _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
  guard let folder = environment["LATCHKEY_FUZZ_SEEDS"] else { return 0 }
  do {
    for target in FuzzTarget.all {
      let home = folder + "/" + target.name
      try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
      for seed in target.seeds { try Data(seed.bytes).write(to: URL(filePath: home + "/" + seed.name)) }
    }
  } catch {
    fatalError("\(error)")
  }
  exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  target.run(unsafe [UInt8](UnsafeBufferPointer(start: start, count: count)))
  return 0
}
