internal import GRPC
internal import Synchronization
internal import API
internal import Protobuf

/// A reason why the server reports NOT_SERVING. If several apply, the first of them is reported.
package enum NotServing: Int, Sendable, CaseIterable {
  case starting
  case stopping
  case storeCorrupt
  case storeUnreachable
  case storeFull
  case storeUnreadable

  /// The reason for an operator, in one line.
  package var text: String {
    switch self {
    case .starting: "the server is starting"
    case .stopping: "the server is stopping"
    case .storeCorrupt: "the store is corrupt"
    case .storeUnreachable: "the database cannot be reached"
    case .storeFull: "the disk of the store is full"
    case .storeUnreadable: "the disk of the store returns errors"
    }
  }
}

/// The health of the server. All reactors of the process share one instance.
package final class HealthState: Sendable {
  /// One bit for each reason that applies.
  private let reasons = Atomic<Int>(0)

  package init() {}

  package var isServing: Bool { reasons.load(ordering: .acquiring) == 0 }

  /// The reason why the server does not serve; nil while it serves.
  package var reason: NotServing? {
    let reasons = reasons.load(ordering: .acquiring)
    return NotServing.allCases.first { reasons & 1 << $0.rawValue != 0 }
  }

  /// Records whether a reason applies.
  package func set(_ reason: NotServing, _ applies: Bool) {
    let bit = 1 << reason.rawValue
    if applies {
      reasons.bitwiseOr(bit, ordering: .acquiringAndReleasing)
    } else {
      reasons.bitwiseAnd(~bit, ordering: .acquiringAndReleasing)
    }
  }

  /// Reports NOT_SERVING from now on. Call this before the first GOAWAY of a shutdown.
  package func stopServing() { set(.stopping, true) }
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
