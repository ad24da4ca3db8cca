internal import FoundationEssentials
package import Reactor
internal import Transport

/// A listening socket that the service manager has passed (sd_listen_fds(3)).
package struct PassedSocket: Hashable, Sendable {
  /// `FileDescriptorName=` of the socket unit; its default is the name of the unit.
  var name: String
  var descriptor: Int32

  /// The first descriptor that a service manager passes.
  private static let first: Int32 = 3
  private static let countMax = 256

  /// Reads the variables of a service manager. Returns no sockets if they are for another process.
  static func all(_ environment: [String: String], processID: Int32) -> [PassedSocket] {
    guard environment["LISTEN_PID"] == "\(processID)", let count = environment["LISTEN_FDS"].flatMap({ Int($0) }),
      1...countMax ~= count
    else { return [] }
    let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false) ?? []
    return (0..<count).map { index in
      PassedSocket(name: index < names.count ? String(names[index]) : "", descriptor: first + Int32(index))
    }
  }
}

/// The listening sockets of the server.
package struct Listeners: Sendable {
  /// The gRPC port; at least one.
  package var grpc: [BoundSocket] = []
  /// The endpoints with this name, `metrics` or `keys`, whose socket was passed.
  package var endpoints: [String: BoundSocket] = [:]
}

extension Settings {
  /// Opens the sockets of the gRPC port, or takes over those that the service manager has passed.
  package func listeners() throws(ConfigurationError) -> Listeners {
    var listeners = Listeners()
    guard listen.takesPassedSockets else {
      for place in listen.addresses {
        listeners.grpc.append(
          try Settings.bound("listen.address") {
            try BoundSocket(
              address: place.address, port: place.port, backlog: limits.listenBacklog,
              leavesIPv4: listen.hasIPv4(onPort: place.port))
          })
      }
      return listeners
    }
    let process = ProcessInfo.processInfo
    let configured = ["metrics": !metricsAddress.isEmpty, "keys": !keysAddress.isEmpty]
    for passed in PassedSocket.all(process.environment, processID: process.processIdentifier) {
      let socket = try Settings.bound("listen.systemd") { try BoundSocket(adopting: passed.descriptor) }
      if let isConfigured = configured[passed.name] {
        guard isConfigured, listeners.endpoints.updateValue(socket, forKey: passed.name) == nil else {
          throw ConfigurationError(
            setting: "listen.systemd",
            why: "the socket \(passed.name) needs \(passed.name).address, and may be passed once")
        }
      } else {
        listeners.grpc.append(socket)
      }
    }
    guard !listeners.grpc.isEmpty else {
      throw ConfigurationError(
        setting: "listen.systemd", why: "the service manager passed no socket: enable and start latchkeyd.socket")
    }
    return listeners
  }

  private static func bound(
    _ setting: String, _ make: () throws -> BoundSocket
  ) throws(ConfigurationError) -> BoundSocket {
    do { return try make() } catch {
      throw ConfigurationError(setting: setting, why: "\(error)", isPassing: ConfigurationError.isPassing(error))
    }
  }
}
