internal import GRPC
package import Observability
internal import Services
package import Store
package import TLS
package import Text

/// State that all workers share: immutable or thread-safe.
package final class Shared: Sendable {
  package let limits: Limits
  /// The table at the start. Each worker replaces its copy when it receives another.
  let initialCallTable: CallTable
  /// Indexes in `CallTable.methods`, by path. All tables have the same methods.
  let methodTable: MethodTable
  let tls: CurrentContext
  let store: any Store
  package let log: Log
  let metrics: ServerMetrics
  let counts: ConnectionCounts
  /// Networks whose connections begin with a PROXY header.
  private let proxyNetworks: [AddressRange]
  /// nil: no traces are exported.
  let tracer: CallTracer?

  package init(
    limits: Limits, calls: CallTable, tls: CurrentContext, store: any Store, log: Log, metrics: ServerMetrics,
    proxyNetworks: [AddressRange] = [], tracer: CallTracer? = nil
  ) {
    self.tracer = tracer
    self.limits = limits
    initialCallTable = calls
    methodTable = MethodTable(calls.methods.map(\.path))
    self.tls = tls
    self.store = store
    self.log = log
    self.metrics = metrics
    counts = ConnectionCounts(limits)
    self.proxyNetworks = proxyNetworks
  }

  /// Whether connections from the address begin with a PROXY header.
  func isProxy(_ address: String) -> Bool {
    guard !proxyNetworks.isEmpty, let address = IPAddress(address) else { return false }
    return proxyNetworks.contains { $0.contains(address) }
  }

  /// Counts and logs that a client reached a limit.
  func reached(_ limit: LimitKind, _ address: String) {
    metrics.reached(limit)
    log.reached(limit, address)
  }
}
