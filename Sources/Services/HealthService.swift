internal import GRPC
internal import Synchronization
internal import API

/// Whether the server takes calls; one for the process, read by every reactor.
package final class HealthState: Sendable {
  private let serving = Atomic<Bool>(true)
  private let storeGone = Atomic<Bool>(false)

  package init() {}

  package var isServing: Bool { serving.load(ordering: .acquiring) && !storeGone.load(ordering: .acquiring) }

  /// Without its store the server can answer no call; or it is back.
  package func storeIsGone(_ isGone: Bool) { storeGone.store(isGone, ordering: .releasing) }

  /// Before the first GOAWAY of a shutdown.
  package func stopServing() { serving.store(false, ordering: .releasing) }
}

/// grpc.health.v1 (doc/health-checking.md): the empty name is the whole server; names match exactly.
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

  /// Check answers NOT_FOUND where Watch, by the same document, answers SERVICE_UNKNOWN and stays open.
  package struct UnknownService: Error {
    let name: String

    package init(name: String) { self.name = name }
  }
}

/// Tells the status now and each time it changes; never ends by itself.
private final class Watcher: StreamHandler {
  private let health: HealthService
  private var service: String?
  private var told: HealthCheckResponse.ServingStatus?

  init(_ health: HealthService) { self.health = health }

  func received(_ message: Message, arena: Arena) throws -> StreamStep {
    let span = message.bytes.span.extracting(message.start..<message.end)
    let service = try HealthCheckRequest.decode(span, arena: arena).service
    // One that is unknown stays it: its name, which may be as long as a message, is not kept for the hours of a watch.
    guard health.status(of: service) != .serviceUnknown else {
      return StreamStep([HealthCheckResponse(status: .serviceUnknown).encode(arena: arena)])
    }
    self.service = service
    return woken(arena: arena)
  }

  func woken(arena: Arena) -> StreamStep {
    guard let service else { return StreamStep() }
    let status = health.status(of: service)
    guard status != told else { return StreamStep() }
    told = status
    return StreamStep([HealthCheckResponse(status: status).encode(arena: arena)])
  }
}
