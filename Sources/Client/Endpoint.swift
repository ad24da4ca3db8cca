internal import Reactor
internal import TLS

/// Where a server is, whom to believe that it is that server, and who the client says it is.
public struct EndpointSettings: Sendable {
  /// A name or an IPv4 or IPv6 address.
  public var host: String
  public var port: UInt16
  /// What the server's certificate must be for; nil: `host`.
  public var serverName: String?
  /// PEM; empty: the authorities that the system believes.
  public var authorityFile = ""
  /// The client's own certificate and key; empty: none.
  public var certificateFile = ""
  public var keyFile = ""
  /// Later handshakes take up the session of an earlier one on the same loop.
  public var resumesSessions = true
  /// From the first packet to the end of the handshake.
  public var connectMillis: Int64 = 10_000
  /// Of one message; past it a call is RESOURCE_EXHAUSTED.
  public var answerBytesMax = 1 << 20

  public init(host: String, port: UInt16, authorityFile: String = "") {
    self.host = host
    self.port = port
    self.authorityFile = authorityFile
  }
}

/// A server as connections reach it: its addresses found, its certificates read. Made once, shared by any number of
/// loops.
public final class Endpoint: Sendable {
  public let settings: EndpointSettings
  let addresses: [String]
  let context: ClientTLSContext
  let serverName: ServerName
  let authority: String

  /// Blocks while the name is looked up.
  public init(_ settings: EndpointSettings) throws(EndpointError) {
    self.settings = settings
    let name = settings.serverName ?? settings.host
    serverName = ServerName(name, isAddress: isAddress(name))
    authority = (name.contains(":") ? "[\(name)]" : name) + ":\(settings.port)"
    do throws(TLSError) {
      context = try ClientTLSContext(
        ClientTLSSettings(
          authorityFile: settings.authorityFile, certificateFile: settings.certificateFile, keyFile: settings.keyFile))
    } catch {
      throw EndpointError(setting: error.setting, why: error.why)
    }
    do {
      addresses = try resolve(settings.host)
    } catch {
      throw EndpointError(setting: "host", why: "\(error)")
    }
  }
}

/// Why an endpoint cannot be used: `host`, `authority`, `certificate` or `key`.
public struct EndpointError: Error, Hashable, CustomStringConvertible {
  public var setting: String
  public var why: String
  public var description: String { "\(setting): \(why)" }
}
