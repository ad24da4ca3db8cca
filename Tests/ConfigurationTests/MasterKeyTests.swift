import Crypto
import TLS
import TestSupport
import Testing

@testable import Configuration

private let setting = "secrets.master_key_files"

private func digits(_ pair: String = "0f") -> String { String(repeating: pair, count: 32) }

@Test(arguments: ["", "00", "zz", " \n"])
func `a master key file holds 64 hex digits and nothing else`(extra: String) async throws {
  try await withFolder { folder in
    let path = folder + "/master.key"
    try write(digits() + extra, to: path)
    if extra.allSatisfy(\.isWhitespace) {
      #expect(try MasterKey.read([path]).map(\.count) == [32])
    } else {
      #expect(refusal { try MasterKey.read([path]) }?.setting == setting)
    }
  }
}

@Test func `a master key file that is missing, short or too large is refused`() async throws {
  try await withFolder { folder in
    #expect(refusal { try MasterKey.read([folder + "/missing"]) }?.setting == setting)
    for text in ["", String(repeating: "0f", count: 31), String(repeating: "0f", count: 4_096)] {
      try write(text, to: folder + "/master.key")
      #expect(refusal { try MasterKey.read([folder + "/master.key"]) }?.setting == setting)
    }
  }
}

@Test func `master keys are read in their order, one to four of them, all different`() async throws {
  try await withFolder { folder in
    let paths = (0...MasterKey.filesMax).map { "\(folder)/\($0).key" }
    for (index, path) in paths.enumerated() { try write(digits("0\(index)"), to: path) }
    #expect(try MasterKey.read(Array(paths.prefix(MasterKey.filesMax))).count == 4)
    #expect(refusal { try MasterKey.read(paths) }?.why == "it must name at most 4 files, not 5")
    #expect(refusal { try MasterKey.read([]) }?.why == "it must name at least one file")
    try write(digits("01") + "\n", to: paths[2])
    let twice = refusal { try MasterKey.read(Array(paths.prefix(3))) }
    #expect(twice?.why == "\(paths[1]) and \(paths[2]) contain the same key" && twice?.setting == setting)
    #expect(refusal { try MasterKey.read([paths[0], paths[0]]) }?.why.contains("the same key") == true)
  }
}

@Test(arguments: [
  ("pkcs11:object=a\n", "must contain a pkcs11: URI and lines of base64"),
  ("pkcs11:object=a\n%%%", "must contain a pkcs11: URI and lines of base64"),
  ("pkcs11:object=a\nQUJD", "names a key without module-path and pin-source"),
  ("pkcs11:object=a?module-path=/x\nQUJD", "names a key without module-path and pin-source"),
  ("pkcs11:unheard=a?module-path=/x&pin-source=/y\nQUJD", "has no valid pkcs11: URI"),
  ("pkcs11:object=a?module-path=/x&pin-source=/nowhere/pin\nQUJD", "has a pin-source that is unusable"),
])
func `a wrapped master key states what is wrong with it`(file: String, why: String) async throws {
  try await withFolder { folder in
    try write(file, to: folder + "/wrapped.key")
    let refused = refusal { try MasterKey.read([folder + "/wrapped.key"]) }
    #expect(refused?.setting == setting && refused?.why.contains(why) == true, "\(refused?.why ?? "")")
  }
}

@Test func `a wrapped master key whose module does not exist is refused`() async throws {
  try await withFolder { folder in
    try write("1234", to: folder + "/pin")
    try write(
      "pkcs11:object=a?module-path=\(folder)/none.so&pin-source=\(folder)/pin\nQUJD", to: folder + "/wrapped.key")
    let refused = refusal { try MasterKey.read([folder + "/wrapped.key"]) }
    #expect(refused?.why.contains("names a module that cannot be loaded or initialized") == true)
  }
}

@Test func `a credential of systemd is a file in its folder, and its name has no slash`() {
  let environment = ["CREDENTIALS_DIRECTORY": "/run/c"]
  #expect(SystemdCredential.path("credential:master.key", environment) == "/run/c/master.key")
  for text in ["credential:", "credential:a/b", "credential:..", "credential:.", "master.key", "/credential:a"] {
    #expect(SystemdCredential.path(text, environment) == nil, "\(text)")
  }
  #expect(SystemdCredential.path("credential:master.key", [:]) == nil)
  #expect(SystemdCredential.path("credential:master.key", ["CREDENTIALS_DIRECTORY": ""]) == nil)
}

@Test func `settings name credentials in place of files, and the error states what is missing`() throws {
  let text = """
    tls: { certificate_file: 'server.pem', key_file: 'credential:tls' },
    secrets: { master_key_files: ['credential:one', 'two'] },
    """
  let given = try parsed(text, ["CREDENTIALS_DIRECTORY": "/run/c"])
  #expect(given.masterKeyFiles.first == "/run/c/one" && given.masterKeyFiles.last?.hasSuffix("/two") == true)
  #expect(given.tls.keyFile == "/run/c/tls" && given.unknownVariables == [])
  let missing = try parsed(text)
  #expect(missing.masterKeyFiles.first == "credential:one")
  let why = refusal { try MasterKey.read(missing.masterKeyFiles) }?.why
  #expect(why?.contains("needs the variable CREDENTIALS_DIRECTORY") == true)
}
