/// Returns a random idempotency key.
///
/// A key identifies one action of the user. Create it when the user acts, store it with the attempt, and send it with
/// every repeat of the same request. The server returns the outcome of the first for 24 hours.
public func makeIdempotencyKey() -> String {
  var generator = SystemRandomNumberGenerator()
  return [generator.next(), generator.next()].map { (half: UInt64) in
    let digits = String(half, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }.joined()
}
