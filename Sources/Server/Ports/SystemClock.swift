// What the domain needs of the outside, answered by the modules below it.

internal import Crypto
internal import Identity
internal import Reactor
internal import Store

struct SystemClock: Clock {
  func now() -> Timestamp { Timestamp(millis: wallMillis()) }
}

struct SystemRandomness: Randomness {
  func bytes(_ count: Int) -> [UInt8] { Random.bytes(count) }
}
