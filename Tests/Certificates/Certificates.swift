// Certificates: made by the openssl command for the tests of both sides of TLS.
//
// Owns: the authorities, the certificates that they signed, and running programs. Does not own: their use in a test.

import CLinux
import Glibc
import Reactor
import TestSupport

/// Runs a program to its end and returns all of its output.
@discardableResult
package func run(_ program: String, _ arguments: [String], input: String = "/dev/null") -> String {
  var (child, ends): (pid_t, [Int32]) = (0, [0, 0])
  unsafe precondition(pipe(&ends) == 0, "no pipe")
  var actions = unsafe posix_spawn_file_actions_t()
  unsafe posix_spawn_file_actions_init(&actions)
  unsafe posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
  unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
  unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
  var words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
  let code = unsafe posix_spawnp(&child, program, &actions, nil, &words, environ)
  precondition(code == 0, "\(program) is needed by these tests")
  for unsafe word in unsafe words { unsafe free(word) }
  unsafe posix_spawn_file_actions_destroy(&actions)
  lk_close(ends[1])
  var said: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 4_096)
  while case let count = unsafe lk_read(ends[0], &buffer, buffer.count), count > 0 { said += buffer[..<Int(count)] }
  lk_close(ends[0])
  waitpid(child, nil, 0)
  return String(decoding: said, as: UTF8.self)
}

/// Authorities, the certificates that they signed, and others that they did not. Made once in a run.
package struct Certificates: Sendable {
  package static let shared = Certificates()

  private let folder: TemporaryFolder

  private init() {
    guard let folder = try? TemporaryFolder() else { preconditionFailure("no temporary folder") }
    self.folder = folder
    authority("authority")
    authority("other-authority")
    leaf("server", names: "DNS:localhost,IP:127.0.0.1")
    leaf("uri", names: "DNS:first.test,URI:spiffe://corp.test/caller,URI:spiffe://corp.test/second")
    leaf("dns", names: "DNS:only.test,DNS:second.test,email:a@b.test")
    leaf("impostor", names: "DNS:spiffe://corp.test/caller")
    leaf("capitals", names: "DNS:ONLY.Test")
    leaf("nameless", names: nil)
    leaf("stranger", names: "DNS:stranger.test", by: "other-authority")
    leaf("second", names: "DNS:localhost")
    leaf("middle", names: nil)
    leaf("below-middle", names: "DNS:localhost", by: "middle")
    leaf("client-only", names: "DNS:localhost", more: ["-addext", "extendedKeyUsage=clientAuth"])
    join(["below-middle.pem", "middle.pem", "authority.pem"], into: "chain.pem")
    join(["middle.pem", "below-middle.pem"], into: "root-first.pem")
    join(["below-middle.pem", "authority.pem"], into: "gap.pem")
    join(["authority.pem", "other-authority.pem"], into: "two-authorities.pem")
    run("openssl", ["ec", "-in", path("server.key"), "-aes128", "-passout", "pass:x", "-out", path("locked.key")])
    run(
      "openssl",
      ["pkcs8", "-topk8", "-in", path("server.key"), "-passout", "pass:x", "-out", path("locked-pkcs8.key")])
    run("mkfifo", [path("pipe.pem")])
    run("openssl", ["genpkey", "-algorithm", "ED25519", "-out", path("other-kind.key")])
    write("garbage.pem", "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    write("empty.pem", "")
    write("hello", "hello\n")
    atexit { Certificates.shared.folder.remove() }
  }

  package func path(_ name: String) -> String { folder.path + "/" + name }

  private func authority(_ name: String) { make(name, []) }

  private func leaf(_ name: String, names: String?, by authority: String = "authority", more: [String] = []) {
    let signed = ["-CA", path(authority + ".pem"), "-CAkey", path(authority + ".key")]
    make(name, signed + more + (names.map { ["-addext", "subjectAltName=" + $0] } ?? []))
  }

  private func join(_ names: [String], into whole: String) {
    write(whole, run("cat", names.map(path)))
  }

  private func make(_ name: String, _ more: [String]) {
    run(
      "openssl",
      ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-subj", "/CN=" + name, "-keyout", path(name + ".key"), "-out", path(name + ".pem")] + more)
  }

  private func write(_ name: String, _ text: String) { rewrite(path(name), text) }

  /// Overwrites the file in place, so that it keeps its inode.
  package func rewrite(_ path: String, _ text: String) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    writeAll(Array(text.utf8), to: file)
    lk_close(file)
  }
}
