import FoundationEssentials
import FuzzTargets
import Testing

// Runs each seed and each finding once. A broken law ends the process with the input's name.

extension FuzzTarget: CustomTestStringConvertible {
  public var testDescription: String { name }
}

@Test(arguments: FuzzTarget.all)
func `messages of real clients break no law`(target: FuzzTarget) {
  for seed in target.seeds { run(target, "seed \(seed.name)", seed.bytes) }
}

@Test(arguments: FuzzTarget.all)
func `inputs that fuzzing kept break no law`(target: FuzzTarget) throws {
  for input in try Inputs.all(in: "Corpus/\(target.name)") { run(target, input.path, input.bytes) }
}

@Test(arguments: FuzzTarget.all)
func `inputs that once broke a law no longer do`(target: FuzzTarget) throws {
  for input in try Inputs.all(in: "Failures/\(target.name)") { run(target, input.path, input.bytes) }
}

@Test func `every kept input is small and belongs to an existing target`() throws {
  let names = Set(FuzzTarget.all.map(\.name))
  #expect(names.count == FuzzTarget.all.count)
  for kind in ["Corpus", "Failures"] {
    let folders = try FileManager.default.contentsOfDirectory(atPath: "\(Inputs.home)/\(kind)")
    #expect(names.isSuperset(of: folders))
    for folder in folders {
      let inputs = try Inputs.all(in: "\(kind)/\(folder)")
      #expect(inputs.count <= 200 && inputs.allSatisfy { $0.bytes.count <= 4_096 }, "\(kind)/\(folder)")
    }
  }
}

private func run(_ target: FuzzTarget, _ name: String, _ bytes: [UInt8]) {
  InputName.$current.withValue("\(target.name), \(name)") { target.run(bytes) }
}

private struct Inputs {
  let path: String
  let bytes: [UInt8]

  static let home = "/" + #filePath.split(separator: "/").dropLast(2).joined(separator: "/")

  /// Empty if there is no such folder: most targets have had no failure.
  static func all(in folder: String) throws -> [Inputs] {
    guard FileManager.default.fileExists(atPath: "\(home)/\(folder)") else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: "\(home)/\(folder)").sorted().map { name in
      let path = "\(home)/\(folder)/\(name)"
      let bytes = try #require(FileManager.default.contents(atPath: path), "\(path) cannot be read")
      return Inputs(path: path, bytes: Array(bytes))
    }
  }
}
