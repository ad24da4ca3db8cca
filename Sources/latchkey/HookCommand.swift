import ArgumentParser
import HookServer
import Reactor
import TLS

struct Hook: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve simple rules as a hook.",
    discussion: """
      For tests, and for rules that need no program of your own:
        latchkey hook serve --rules rules.json
      """,
    subcommands: [HookServe.self])
}

struct HookServe: ParsableCommand {
  private static let backlog: Int32 = 64
  private static let fileBytesMax = 1 << 20

  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Answer a server's questions by the rules of a file.",
    discussion: """
      Set endpoint of `hooks` in the server's configuration to the address, and its certificate pair to one that the \
      authority of --client-ca has issued. The command runs until it is stopped. It reads the file once:
        latchkey hook serve --rules rules.json --certificate hook.pem \\
          --key hook.key --client-ca authority.pem

      The first rule with the event whose conditions all hold decides. Without one, the answer allows:

        {"rules": [
          {"event": "before_create", "other_email_domains": ["staff.example"],
           "deny": {"code": "DOMAIN", "reason": "Only for staff."}},
          {"event": "before_sign_in", "providers": ["google.com"],
           "allow": {"session_claims": {"by": "google"}}},
          {"event": "before_send", "phone_prefixes": ["+1"],
           "deny": {"code": "COUNTRY"}}
        ]}

      Conditions are callers, providers, email_domains, other_email_domains and phone_prefixes. allow may have \
      display_name, photo_url, disabled, email_verified, custom_claims and session_claims.
      """)

  @Option(help: ArgumentHelp("File with the rules.", valueName: "file"))
  var rules: String

  @Option(help: ArgumentHelp("IPv4 or IPv6 address to listen on.", valueName: "address"))
  var address = "127.0.0.1"

  @Option(help: ArgumentHelp("Port to listen on; 0: any free port.", valueName: "port"))
  var port: UInt16 = 8_444

  @Option(help: ArgumentHelp("PEM certificate of the hook.", valueName: "file"))
  var certificate: String

  @Option(help: ArgumentHelp("PEM private key of the certificate.", valueName: "file"))
  var key: String

  @Option(
    name: .customLong("client-ca"),
    help: ArgumentHelp("PEM CA certificates of the only servers that may ask.", valueName: "file"))
  var clientAuthority: String

  func run() throws {
    try showEnding(asJSON: false) {
      let read: HookRules
      do {
        read = try HookRules(parsing: try wholeFile(rules, bytesMax: HookServe.fileBytesMax))
      } catch {
        throw Ending.usage("--rules", "\(error)")
      }
      let server: HookServer
      let socket: BoundSocket
      do {
        socket = try BoundSocket(address: address, port: port, backlog: HookServe.backlog)
        server = try HookServer(
          read, socket,
          TLSSettings(
            certificateFile: certificate, keyFile: key, clientAuthorityFile: clientAuthority,
            clientCertificates: .required))
      } catch {
        throw Ending.usage("--certificate, --key, --client-ca or --port", "\(error)")
      }
      try tryWriteOutput(Array("listening on port \(socket.port)\n".utf8))
      server.run()
    }
  }
}
