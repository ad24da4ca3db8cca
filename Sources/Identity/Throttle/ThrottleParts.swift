import Store

/// The parts of a count that covers all users of a caller.
///
/// A count in one row is locked until its transaction ends, so in a database all counted attempts of a caller would run
/// one after the other. A large count has several parts, each with an equal share of the limit, and each attempt counts
/// in one of them at random.
///
/// All parts together allow no more than the limit. Some are full before others: with shares of 1,000, a tenth of the
/// attempts is rejected when about 96 percent of the limit is used.
enum ThrottleParts {
  private static let partsMax = 32
  /// The smallest share of a part. Smaller limits have one part and are exact.
  private static let shareMin = 1_000

  /// The number of parts of a rule.
  static func count(_ rule: ThrottleRule) -> Int { min(partsMax, max(1, rule.countMax / shareMin)) }

  /// The part of the next attempt.
  static func pick(of count: Int, _ randomness: any Randomness) -> Int {
    count > 1 ? Int(randomness.bytes(1)[0]) % count : 0
  }
}

extension ThrottleRule {
  /// The rule of one of equal parts.
  func divided(by parts: Int) -> ThrottleRule {
    var rule = self
    rule.countMax /= parts
    rule.countAgainMax /= parts
    return rule
  }
}
