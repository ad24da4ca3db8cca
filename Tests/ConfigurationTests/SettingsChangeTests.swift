import Crypto
import FoundationEssentials
import Identity
import Store
import TestSupport
import Testing

@testable import Configuration

private func names(_ old: String, _ new: String) throws -> [String] {
  Settings.differences(try settings(old).effective, try settings(new).effective)
}

@Test func `differences are named by setting, and added or removed list elements as a whole`() throws {
  let web = "{ name: 'web', san: 'dns:web' }"
  let key = String(repeating: "ab", count: 32)
  #expect(try names("", "") == [])
  #expect(try names("", "listen: { port: 8443 }") == [], "the default, written out")
  #expect(try names("reactors: 1", "reactors: 2, log: { level: 'debug' }") == ["log.level", "reactors"])
  #expect(try names("", "callers: [\(web)]") == ["callers[web]"])
  #expect(try names("callers: [\(web)]", "") == ["callers[web]"])
  #expect(
    try names("callers: [\(web)]", "callers: [{ name: 'new', san: 'dns:new' }, \(web)]") == ["callers[new]"],
    "another index is no change")
  #expect(
    try names("callers: [\(web)]", "callers: [{ name: 'web', san: 'dns:other', merge: true }]")
      == ["callers[web].merge", "callers[web].san"])
  #expect(
    try names(
      "callers: [\(web)]",
      "callers: [{ name: 'web', san: 'dns:web', api_keys: [{ sha256: '\(key)', name: 'first' }] }]")
      == ["callers[web].api_keys[first]"])
}

@Test func `a reload takes over its settings, and no other`() throws {
  let old = try settings("policy: { anonymous: true }, callers: [{ name: 'web', san: 'dns:a' }], reactors: 1")
  let new = try settings("policy: { auto_link: 'authoritative' }, reactors: 2, listen: { allow_unidentified: true }")
  let tree = old.tree.taking(["policy", "callers", "listen.allow_unidentified"], from: new.tree)
  let taken = try Settings.read(tree, folder: "/etc/latchkey", [:])
  #expect(taken.policy.autoLink == .authoritative && taken.allowUnidentified && taken.callers.isEmpty)
  #expect(taken.reactors == 1)
}

@Test func `a change keeps the list elements that it does not name`() throws {
  let change = SettingsChange(
    settings: try settings(), contents: [:], changed: ["providers[a.com].client_ids", "providers[b.com]", "log.level"],
    needsRestart: [])
  let kept = ["a.com", "b.com", "c.com", "a.co"].filter { change.keeps("providers[\($0)]") }
  #expect(kept == ["c.com", "a.co"])
}

@Test func `the fingerprint changes with the file, its secrets and its templates`() throws {
  let folder = try TemporaryFolder()
  let file = folder.path + "/latchkey.json5"
  let text = """
    { tls: { certificate_file: 'c', key_file: 'k' }, delivery: { template_folder: 'mails' },
      providers: [{ id: 'google.com', client_ids: ['a'], client_secret_file: 'secret' }] }
    """
  try write(text, to: file)
  var settings = try Settings.parse(Array(text.utf8), folder: folder.path, environment: [:])
  settings.configurationFile = file
  try FileManager.default.createDirectory(atPath: folder.path + "/mails/en", withIntermediateDirectories: true)
  var seen = [settings.fingerprint()]
  let changes = [
    ("secret", "one"), ("secret", "two"), ("mails/en/sign_in.txt", "Subject: a"), ("latchkey.json5", "{"),
  ]
  for (name, text) in changes {
    try write(text, to: "\(folder.path)/\(name)")
    #expect(settings.fingerprint() == settings.fingerprint())
    seen.append(settings.fingerprint())
  }
  #expect(Set(seen).count == seen.count)
  #expect(settings.contents().keys.sorted() == ["delivery.template_folder", "providers[google.com].client_secret_file"])
}
