internal import Reactor
internal import TLS

/// The address of a server, the trusted certificate authorities, and the client's identity.
public struct EndpointSettings: Sendable {
  /// A host name, or an IPv4 or IPv6 address.
  public var host: String
  public var port: UInt16
  /// The name in the server's certificate; nil: `host`.
  public var serverName: String?
  /// PEM file of the trusted certificate authorities; empty: those of the system.
  public var authorityFile = ""
  /// PEM files of the client's certificate and key; empty: none.
  public var certificateFile = ""
  public var keyFile = ""
  /// Whether the connection has no TLS. Only for a server on the same machine.
  public var isPlain = false
  /// Whether handshakes resume the TLS session of an earlier connection on the same loop.
  public var resumesSessions = true
  /// The timeout for connecting, including the TLS handshake.
  public var connectMillis: Int64 = 10_000
  /// Maximum size of a response message in bytes. A call with a larger one fails with RESOURCE_EXHAUSTED.
  public var answerBytesMax = 1 << 20

  public init(host: String, port: UInt16, authorityFile: String = "") {
    self.host = host
    self.port = port
    self.authorityFile = authorityFile
  }
}

/// A server with resolved addresses and loaded certificates. Any number of loops may share an endpoint.
public final class Endpoint: Sendable {
  public let settings: EndpointSettings
  let addresses: [String]
  let context: ClientTLSContext
  let serverName: ServerName
  let authority: String

  /// Reads the certificates and resolves the host name. Blocks during the DNS lookup.
  public convenience init(_ settings: EndpointSettings) throws(EndpointError) {
    let addresses: [String]
    do {
      addresses = try resolve(settings.host)
    } catch {
      throw EndpointError(setting: "host", why: "\(error)")
    }
    try self.init(settings, addresses: addresses)
  }

  init(_ settings: EndpointSettings, addresses: [String]) throws(EndpointError) {
    self.settings = settings
    self.addresses = addresses
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
  }
}

/// An invalid endpoint setting: `host`, `authority`, `certificate` or `key`.
public struct EndpointError: Error, Hashable, CustomStringConvertible {
  public var setting: String
  public var why: String
  public var description: String { "\(setting): \(why)" }
}
