package import Callers
internal import GRPC
package import Observability
package import Services
package import Store
package import TLS

/// State that all workers share: immutable or thread-safe.
package final class Shared: Sendable {
  package let limits: Limits
  let methods: [Method]
  /// Indexes in `methods`, by path.
  let methodTable: MethodTable
  let callers: CallerTable
  let tls: CurrentContext
  let store: any Store
  package let log: Log
  let metrics: ServerMetrics
  let counts: ConnectionCounts

  package init(
    limits: Limits, methods: [Method], callers: CallerTable, tls: CurrentContext, store: any Store,
    log: Log, metrics: ServerMetrics
  ) {
    self.limits = limits
    self.methods = methods
    methodTable = MethodTable(methods.map(\.path))
    self.callers = callers
    self.tls = tls
    self.store = store
    self.log = log
    self.metrics = metrics
    counts = ConnectionCounts(limits)
  }

  /// Counts and logs that a client reached a limit.
  func reached(_ limit: LimitKind, _ address: String) {
    metrics.reached(limit)
    log.reached(limit, address)
  }
}
