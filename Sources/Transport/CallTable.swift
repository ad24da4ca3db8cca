package import Callers
package import Services

/// What a worker serves calls with: the methods with their handlers, and the callers. Immutable. A reload of the
/// configuration replaces it as a whole. A call keeps the methods with which it began.
package final class CallTable: Sendable {
  package let methods: [Method]
  package let callers: CallerTable

  package init(methods: [Method], callers: CallerTable) {
    self.methods = methods
    self.callers = callers
  }
}
