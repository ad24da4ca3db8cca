import Certificates
import Reactor
import Testing

@testable import TLS

private let here = Certificates.shared

/// A server's files under names of their own, and a context made from them.
private struct Served {
  let settings: TLSSettings
  let current: CurrentContext
  private let folder: String

  /// - Parameter linked: The names go through a symbolic link, as with mounted secrets.
  init(linked: Bool = false) throws {
    folder = here.path("served-\(UInt64.random(in: 0 ... .max))")
    run("mkdir", ["-p", folder + "/first", folder + "/second"])
    for (name, pair) in [("first", "server"), ("second", "second")] {
      run("cp", [here.path(pair + ".pem"), folder + "/\(name)/tls.crt"])
      run("cp", [here.path(pair + ".key"), folder + "/\(name)/tls.key"])
      run("cp", [here.path("authority.pem"), folder + "/\(name)/ca.crt"])
    }
    run("ln", ["-s", "first", folder + "/data"])
    let home = folder + (linked ? "/data/" : "/first/")
    settings = TLSSettings(
      certificateFile: home + "tls.crt", keyFile: home + "tls.key", clientAuthorityFile: home + "ca.crt",
      clientCertificates: .optional)
    current = try CurrentContext(settings, wallMillis: wallMillis(), monotonicMillis: 0)
  }

  func look(demanded: Bool = false, afterSeconds: Int64 = 0) -> CurrentContext.Look {
    current.look(demanded: demanded, wallMillis: wallMillis() + afterSeconds * 1_000, monotonicMillis: 0)
  }

  /// Renames another file to this name.
  func put(_ content: String, _ file: String) {
    let path = folder + "/first/" + file
    run("cp", [here.path(content), path + ".new"])
    run("mv", [path + ".new", path])
  }

  func exchangeLink() {
    run("ln", ["-s", "second", folder + "/data.new"])
    run("mv", ["-T", folder + "/data.new", folder + "/data"])
  }
}

extension CurrentContext.Look {
  fileprivate var isUnchanged: Bool { if case .unchanged = self { true } else { false } }
  fileprivate var loaded: CertificateStatus? { if case .loaded(let status) = self { status } else { nil } }
  fileprivate var refused: TLSError? { if case .refused(let error) = self { error } else { nil } }
}

/// The serial number that `openssl x509` prints.
private func serial(_ name: String) -> String {
  String(run("openssl", ["x509", "-in", here.path(name), "-noout", "-serial"]).dropFirst("serial=".count).dropLast())
}

@Test func `unchanged files are not loaded again, unless requested`() throws {
  let served = try Served()
  let first = served.current.context
  for _ in 0..<3 { #expect(served.look().isUnchanged) }
  #expect(served.current.context === first)
  #expect(served.look(demanded: true).loaded?.loads == 2)
  #expect(served.current.context !== first)
}

@Test func `a pair that was renamed into place is served from then on`() async throws {
  let served = try Served()
  #expect(served.current.status.certificate.serial == serial("server.pem"))
  served.put("second.key", "tls.key")
  served.put("second.pem", "tls.crt")
  let status = try #require(served.look().loaded)
  #expect(status == served.current.status)
  #expect(status.certificate.serial == serial("second.pem"))
  #expect(status.certificate.notAfterMillis > wallMillis() + 86_400_000)
  #expect(status.loads == 2 && status.failures == 0)
  let meeting = try await Meeting.of(served.current.context)
  #expect(meeting.handshake == .done(1))
  #expect(served.look().isUnchanged)
}

@Test func `a replaced symbolic link on the path to the files is detected`() throws {
  let served = try Served(linked: true)
  #expect(served.look().isUnchanged)
  served.exchangeLink()
  #expect(served.look().loaded?.certificate.serial == serial("second.pem"))
}

@Test func `the client authorities are reloaded with the pair`() async throws {
  let served = try Served()
  let stranger = ["-alpn", "h2", "-cert", here.path("stranger.pem"), "-key", here.path("stranger.key")]
  let before = try await Meeting.of(served.current.context, stranger)
  #expect(before.handshake != .done(1))
  served.put("two-authorities.pem", "ca.crt")
  #expect(served.look().loaded != nil)
  let after = try await Meeting.of(served.current.context, stranger)
  #expect(after.peerName == .name("dns:stranger.test"))
}

/// A file, its invalid content, and the setting that the error must name.
private let unusable: [(file: String, content: String, setting: String)] = [
  ("tls.crt", "garbage.pem", "tls.certificate_file"), ("tls.crt", "empty.pem", "tls.certificate_file"),
  ("tls.crt", "client-only.pem", "tls.certificate_file"), ("tls.crt", "second.pem", "tls.key_file"),
  ("tls.key", "garbage.pem", "tls.key_file"), ("tls.key", "second.key", "tls.key_file"),
  ("tls.key", "locked.key", "tls.key_file"), ("ca.crt", "garbage.pem", "tls.client_ca_file"),
  ("ca.crt", "empty.pem", "tls.client_ca_file"),
]

@Test(arguments: unusable)
func `unusable files keep the loaded ones in place, and are reported once`(
  file: String, content: String, setting: String
) throws {
  let served = try Served()
  let first = served.current.context
  served.put(content, file)
  #expect(served.look().refused?.setting == setting)
  #expect(served.look().isUnchanged && served.look().isUnchanged)
  #expect(served.current.context === first)
  #expect(served.current.status.failures == 1 && served.current.status.loads == 1)
  #expect(served.look(demanded: true).refused?.setting == setting, "who asks is answered")
}

@Test func `a partial file is rejected wherever it was cut, and the complete one is accepted`() throws {
  let served = try Served()
  let whole = run("cat", [here.path("chain.pem")])
  served.put("below-middle.key", "tls.key")
  // A part that ends between two certificates is a complete file, so the test does not cut there.
  for percent in [1, 20, 40, 60, 80, 99] {
    here.rewrite(served.settings.certificateFile, String(whole.prefix(whole.count * percent / 100)))
    #expect(served.look().refused != nil, "\(percent) %")
  }
  here.rewrite(served.settings.certificateFile, whole)
  #expect(served.look().loaded?.certificate.serial == serial("below-middle.pem"))
}

@Test func `the error names a missing file, and the loaded ones stay`() throws {
  let served = try Served()
  run("rm", [served.settings.keyFile])
  let error = try #require(served.look().refused)
  #expect(error.setting == "tls.key_file" && error.why.contains("No such file"))
  #expect(served.look().isUnchanged)
}

@Test func `a certificate that is not valid yet is loaded once it is, without a change of its file`() throws {
  let served = try Served()
  served.put("second.pem", "tls.crt")
  served.put("second.key", "tls.key")
  #expect(served.look(afterSeconds: -3_600).refused?.why.contains("is not valid before") == true)
  #expect(served.look(afterSeconds: -3_500).isUnchanged)
  #expect(served.look().loaded?.certificate.serial == serial("second.pem"))
}

@Test func `a certificate that expires while it is served stays in use, since there is no better one`() throws {
  let served = try Served()
  #expect(served.look(afterSeconds: 4 * 86_400).isUnchanged)
  #expect(served.look(demanded: true, afterSeconds: 4 * 86_400).refused?.why.contains("expired at") == true)
  #expect(served.current.status.certificate.serial == serial("server.pem"))
}

@Test func `no message about a key file contains any part of it`() throws {
  let served = try Served()
  let secret = run("cat", [here.path("second.key")]).split(separator: "\n").filter { !$0.hasPrefix("-----") }
  try #require(!secret.isEmpty)
  for content in ["second.key", "locked.key", "garbage.pem"] {
    served.put(content, "tls.key")
    let said = try #require(served.look().refused).description
    for line in secret { #expect(!said.contains(line)) }
  }
}
