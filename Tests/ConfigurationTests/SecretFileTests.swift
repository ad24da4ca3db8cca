import Glibc
import TestSupport
import Testing

@testable import Configuration

/// Makes a file with mode 0600.
private func file(_ folder: String, _ name: String) throws -> String {
  let path = "\(folder)/\(name)"
  try write(String(repeating: "0f", count: 32), to: path)
  unsafe chmod(path, 0o600)
  return path
}

/// Settings with a file for every secret.
private func everySecret(_ folder: String) throws -> (settings: Settings, files: [String], names: [String]) {
  let files = try ["server.key", "database", "master.key", "webhook", "client"].map { try file(folder, $0) }
  let settings = try parsed(
    """
    tls: { certificate_file: 'server.pem', key_file: '\(files[0])' },
    secrets: { master_key_files: ['\(files[2])'] },
    store: { postgres: { conninfo: 'host=/run', password_file: '\(files[1])' } },
    delivery: {
      mail: 'webhook', webhook: { url: 'https://h.example', secret_file: '\(files[3])' },
      smtp: { password_file: '\(files[4])' },
    },
    providers: [{ id: 'google.com', client_ids: ['a'], client_secret_file: '\(files[4])' }],
    """)
  return (
    settings, files,
    [
      "tls.key_file", "store.postgres.password_file", "secrets.master_key_files", "delivery.webhook.secret_file",
      "providers[0].client_secret_file",
    ]
  )
}

@Test func `a world-writable secret file is rejected, whatever its content`() async throws {
  try await withFolder { folder in
    let (settings, files, names) = try everySecret(folder)
    #expect(settings.faultsOfFiles().first?.why.contains("written by all users") == false)
    for (path, name) in zip(files, names) {
      for mode in [0o602, 0o666] as [mode_t] {
        unsafe chmod(path, mode)
        let refused = settings.faultsOfFiles().first
        #expect(refused?.setting == name && refused?.why == "\(path) can be written by all users")
      }
      // Like a group on a writable Kubernetes volume.
      unsafe chmod(path, 0o660)
      #expect(settings.faultsOfFiles().first?.why.contains("written by all users") == false)
    }
  }
}

@Test func `a secret file that is world-readable or group-writable causes a warning if it is used`()
  async throws
{
  try await withFolder { folder in
    let (settings, files, names) = try everySecret(folder)
    for path in files { unsafe chmod(path, 0o640) }
    #expect(settings.warningsOfFiles() == [])
    for path in files { unsafe chmod(path, 0o644) }
    #expect(settings.warningsOfFiles().map { $0.prefix { $0 != ":" } }.sorted() == names.map { $0[...] }.sorted())
    for path in files { unsafe chmod(path, 0o660) }
    #expect(settings.warningsOfFiles().map { $0.prefix { $0 != ":" } }.sorted() == names.map { $0[...] }.sorted())
  }
}
