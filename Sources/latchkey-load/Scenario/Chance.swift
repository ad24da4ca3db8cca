/// A random number generator whose sequence depends only on its seed, which makes runs reproducible (SplitMix64:
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

/// A random choice of indices in proportion to their weights.
struct WeightedChoice {
  /// Sums of the weights up to and including each index.
  private let sums: [Int]

  /// Creates a choice.
  ///
  /// - Parameter weights: at least one weight, all greater than 0.
  init(_ weights: [Int]) {
    var sum = 0
    sums = weights.map { weight in
      sum += weight
      return sum
    }
  }

  func draw(_ generator: inout SeededGenerator) -> Int {
    guard sums.count > 1, let all = sums.last else { return 0 }
    let point = Int.random(in: 0..<all, using: &generator)
    return sums.firstIndex { point < $0 } ?? sums.count - 1
  }
}
