internal import Admission
internal import GRPC
internal import Services
internal import Store
internal import TLS

/// Everything the workers share: immutable, or made for sharing.
final class Shared: Sendable {
  let limits: Limits
  let methods: [Method]
  /// Numbers in `methods`.
  let methodTable: MethodTable
  let callers: CallerTable
  let tls: CurrentContext
  let store: any Store
  let log: Log
  let metrics: ServerMetrics
  let census: Census

  init(
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
    census = Census(limits)
  }

  /// A stranger met a limit.
  func reached(_ limit: LimitKind, _ address: String) {
    metrics.reached(limit)
    log.reached(limit, address)
  }
}
