import Crypto
import Glibc
import Testing

@testable import Server

/// With mode 0600.
private func file(_ folder: String, _ name: String) throws -> String {
  let path = "\(folder)/\(name)"
  try write(String(repeating: "0f", count: 32), to: path)
  unsafe chmod(path, 0o600)
  return path
}

@Test(arguments: [0o620, 0o602, 0o666] as [mode_t])
func `the file of a secret that others can write is refused, whatever it holds`(mode: mode_t) async throws {
  try await withFolder { folder in
    let (master, webhook) = (try file(folder, "master.key"), try file(folder, "webhook.secret"))
    let settings = try settings(
      "delivery: { mail: 'webhook', webhook: { url: 'https://h.example', secret_file: '\(webhook)' } }")
    #expect(try MasterKey.read(master).count == 32)
    #expect(try settings.deliverySecrets().webhook.count == 1)
    for path in [master, webhook] { unsafe chmod(path, mode) }
    #expect(refusal { try MasterKey.read(master) }?.setting == "secrets.master_key_file")
    #expect(refusal { try settings.deliverySecrets() }?.setting == "delivery.webhook.secret_file")
  }
}

@Test func `the file of a secret that others can read is warned of, where it is used`() async throws {
  try await withFolder { folder in
    let files = try ["master.key", "webhook.secret", "client.secret"].map { try file(folder, $0) }
    let settings = try settings(
      """
      secrets: { master_key_file: '\(files[0])' },
      delivery: {
        mail: 'webhook', webhook: { url: 'https://h.example', secret_file: '\(files[1])' },
        smtp: { password_file: '\(files[2])' },
      },
      providers: [{ id: 'google.com', client_ids: ['a'], client_secret_file: '\(files[2])' }],
      """)
    #expect(settings.warningsOfFiles() == [])
    for path in files { unsafe chmod(path, 0o640) }
    #expect(
      settings.warningsOfFiles().map { $0.prefix { $0 != ":" } } == [
        "secrets.master_key_file", "delivery.webhook.secret_file", "providers[0].client_secret_file",
      ])
  }
}
