/// How long a check takes: under today's parameters, under older ones that stored hashes still have, and of each kind
/// that was imported.
struct PasswordPace {
  enum Kind: Hashable {
    case today
    case older
    case foreign(String)
  }

  /// Imports may bring any number of parameters; past so many they share one place.
  private static let kindsMax = 64
  private var means: [Kind: Duration] = [:]

  /// Takes one check into account; returns how much longer a check of the slowest other kind would have taken.
  mutating func note(_ took: Duration, _ kind: Kind) -> Duration {
    let kind = means[kind] == nil && means.count >= PasswordPace.kindsMax ? .older : kind
    // A running mean over some eight checks: one that was held up does not set the pace.
    means[kind] = means[kind].map { $0 + (took - $0) / 8 } ?? took
    let slowest = means.filter { $0.key != kind }.values.max() ?? .zero
    return max(.zero, slowest - took)
  }
}
