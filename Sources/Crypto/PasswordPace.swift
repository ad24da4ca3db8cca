/// Durations of password checks: with the current parameters, with older parameters of stored hashes, and for each kind
/// of imported hash.
package struct PasswordPace: Sendable {
  package enum Kind: Hashable {
    case today
    case older
    case foreign(String)
  }

  /// Maximum number of kinds. Imports may contain any number of parameters; further kinds share one entry.
  private static let kindsMax = 64
  private static let others = Kind.foreign("")
  private var means: [Kind: Duration] = [:]

  package init() {}

  /// Records one check; returns how much longer a check of the slowest other kind takes.
  /// - Parameter spellings: number of spellings that are compared with an imported hash, each for the same time. Other
  ///   hashes are compared with one.
  package mutating func note(_ took: Duration, _ kind: Kind, spellings: Int = 1) -> Duration {
    let isOneTooMany = kind.isForeign && means[kind] == nil && means.count >= PasswordPace.kindsMax
    let kind = isOneTooMany ? PasswordPace.others : kind
    let once = kind.isForeign ? took / spellings : took
    // A running mean over about eight checks, so that a single delayed check has little effect.
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
