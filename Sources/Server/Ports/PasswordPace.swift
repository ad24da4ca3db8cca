/// How long a check takes: under today's parameters, under older ones that stored hashes still have, and for each kind
/// of imported hash.
struct PasswordPace {
  enum Kind: Hashable {
    case today
    case older
    case foreign(String)
  }

  /// Imports may bring any number of parameters; past so many they share one place.
  private static let kindsMax = 64
  private static let others = Kind.foreign("")
  private var means: [Kind: Duration] = [:]

  /// Takes one check into account; returns how much longer a check of the slowest other kind would have taken.
  /// - Parameter spellings: with how many an imported hash is compared, or would be, each for the same time again; all
  ///   other hashes with one.
  mutating func note(_ took: Duration, _ kind: Kind, spellings: Int = 1) -> Duration {
    let isOneTooMany = kind.isForeign && means[kind] == nil && means.count >= PasswordPace.kindsMax
    let kind = isOneTooMany ? PasswordPace.others : kind
    let once = kind.isForeign ? took / spellings : took
    // A running mean over some eight checks: one that was held up does not set the pace.
    means[kind] = means[kind].map { $0 + (once - $0) / 8 } ?? once
    let slowest = means.filter { $0.key != kind }.map { $0.key.isForeign ? $0.value * spellings : $0.value }.max()
    return max(.zero, (slowest ?? .zero) - took)
  }
}

extension PasswordPace.Kind {
  fileprivate var isForeign: Bool {
    if case .foreign = self { true } else { false }
  }
}
