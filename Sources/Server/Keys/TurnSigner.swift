internal import Reactor
internal import Tokens

/// Signs together what the tasks of one turn of a reactor want signed: many signatures take half the time of as many
/// alone (ecdsa.h), and the calls of a turn come back from one commit together.
final class TurnSigner: Sendable {
  private struct Order {
    let token: UnsignedToken
    let answer: CheckedContinuation<String, any Error>
  }

  private final class Tray {
    var orders: [Order] = []
  }

  private let trays: ThreadSlot<Tray>

  init() throws(SystemError) { trays = try ThreadSlot() }

  /// From now on the calling thread gathers, and calls `signAll` in each of its turns.
  func attachThread() { trays.value = Tray() }

  func detachThread() {
    signAll()
    trays.value = nil
  }

  /// A compact JWS, made at the next `signAll` of the thread; at once on one that is not attached, and where company
  /// saves nothing.
  func sign(_ token: UnsignedToken) async throws -> String {
    guard token.gainsByCompany, trays.value != nil else { return try token.signed() }
    return try await withCheckedThrowingContinuation { answer in
      guard let tray = trays.value else { return answer.resume(with: Result { try token.signed() }) }
      tray.orders.append(Order(token: token, answer: answer))
    }
  }

  /// Whether the calling thread has gathered any since its last `signAll`.
  var isWaiting: Bool { trays.value.map { !$0.orders.isEmpty } ?? false }

  /// What waits on the calling thread is signed, and its tasks go on. False: nothing did.
  @discardableResult
  func signAll() -> Bool {
    guard let tray = trays.value, !tray.orders.isEmpty else { return false }
    let orders = tray.orders
    tray.orders.removeAll(keepingCapacity: true)
    for (order, result) in zip(orders, UnsignedToken.signed(orders.map(\.token))) {
      order.answer.resume(with: result.mapError { $0 as any Error })
    }
    return true
  }
}
