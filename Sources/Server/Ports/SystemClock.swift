// Adapters of the domain's ports to the lower modules.

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
