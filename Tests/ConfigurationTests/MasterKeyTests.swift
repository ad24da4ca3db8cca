import Crypto
import TestSupport
import Testing

@testable import Configuration

@Test(arguments: ["", "00", "zz", " \n"])
func `a master key file holds 64 hex digits and nothing else`(extra: String) async throws {
  let digits = String(repeating: "0f", count: 32)
  try await withFolder { folder in
    let path = folder + "/master.key"
    try write(digits + extra, to: path)
    if extra.allSatisfy(\.isWhitespace) {
      #expect(try MasterKey.read(path).count == 32)
    } else {
      #expect(refusal { try MasterKey.read(path) }?.setting == "secrets.master_key_file")
    }
  }
}

@Test func `a master key file that is missing, short or too large is refused`() async throws {
  try await withFolder { folder in
    #expect(refusal { try MasterKey.read(folder + "/missing") }?.setting == "secrets.master_key_file")
    for text in ["", String(repeating: "0f", count: 31), String(repeating: "0f", count: 4_096)] {
      try write(text, to: folder + "/master.key")
      #expect(refusal { try MasterKey.read(folder + "/master.key") }?.setting == "secrets.master_key_file")
    }
  }
}
