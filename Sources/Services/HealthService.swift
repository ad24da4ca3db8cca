internal import GRPC
internal import Synchronization
internal import API
internal import Protobuf

/// The health of the server. All reactors of the process share one instance.
package final class HealthState: Sendable {
  private let serving = Atomic<Bool>(true)
  private let storeGone = Atomic<Bool>(false)

  package init() {}

  package var isServing: Bool { serving.load(ordering: .acquiring) && !storeGone.load(ordering: .acquiring) }

  /// Records whether the store is unavailable. Without its store the server cannot answer calls.
  package func storeIsGone(_ isGone: Bool) { storeGone.store(isGone, ordering: .releasing) }

  /// Reports NOT_SERVING from now on. Call this before the first GOAWAY of a shutdown.
  package func stopServing() { serving.store(false, ordering: .releasing) }
}

/// grpc.health.v1 (doc/health-checking.md). The empty name means the whole server. Names must match exactly.
package struct HealthService: Sendable {
  private let state: HealthState
  private let services: Set<String>

  package init(_ state: HealthState, services: [String]) {
    self.state = state
    self.services = Set(services + ["", HealthRPC.service])
  }

  package var methods: [Method] {
    [
      .unary(HealthRPC.check, access: .anyone, isLookUp: true) { request, _, _, arena in
        let status = status(of: request.service)
        guard status != .serviceUnknown else { throw UnknownService(name: request.service) }
        return .answer(HealthCheckResponse(status: status).encode(arena: arena))
      },
      Method(
        HealthRPC.watch.path, timeLimitMillis: .max, access: .anyone, isLookUp: true,
        .stream(fromClient: false) { _ in Watcher(self) }),
    ]
  }

  fileprivate func status(of service: String) -> HealthCheckResponse.ServingStatus {
    guard services.contains(service) else { return .serviceUnknown }
    return state.isServing ? .serving : .notServing
  }

  /// The error of Check for an unknown service: NOT_FOUND. Watch instead sends SERVICE_UNKNOWN and stays open.
  package struct UnknownService: Error {
    let name: String

    package init(name: String) { self.name = name }
  }
}

/// The handler of Watch. Sends the status at the start and after each change, and never ends the call.
private final class Watcher: StreamHandler {
  private let health: HealthService
  private var service: String?
  private var reported: HealthCheckResponse.ServingStatus?

  init(_ health: HealthService) { self.health = health }

  func received(_ message: Message, arena: Arena) throws -> StreamStep {
    let span = message.bytes.span.extracting(message.start..<message.end)
    let service = try HealthCheckRequest.decode(span, arena: arena).service
    // An unknown service stays unknown. Do not keep its name for the whole call, because it may be very long.
    guard health.status(of: service) != .serviceUnknown else {
      return StreamStep([HealthCheckResponse(status: .serviceUnknown).encode(arena: arena)])
    }
    self.service = service
    return woken(arena: arena)
  }

  func woken(arena: Arena) -> StreamStep {
    guard let service else { return StreamStep() }
    let status = health.status(of: service)
    guard status != reported else { return StreamStep() }
    reported = status
    return StreamStep([HealthCheckResponse(status: status).encode(arena: arena)])
  }
}
