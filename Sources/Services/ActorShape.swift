package import Callers
package import Identity

/// Validation of the metadata that names the human for whom a caller acts.
package enum ActorShape {
  package static let field = "x-latchkey-actor"
  package static let bytesMax = 128

  /// Checks the value and the caller's right to pass it. An empty value is no name.
  package static func check(_ actor: String, isRepeated: Bool, of caller: Caller) throws(Failure) {
    guard !actor.isEmpty || isRepeated else { return }
    guard caller.mayNameActor else {
      throw Failure(.callerNotAllowed, field: field, hint: "Ask the operator to grant `actor` to the caller.")
    }
    guard !isRepeated, actor.utf8.count <= bytesMax, actor.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
      throw Failure(
        .invalidField, field: field, hint: "Send it once, with at most \(bytesMax) printable ASCII characters.")
    }
  }
}
