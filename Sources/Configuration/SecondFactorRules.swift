internal import Callers
internal import Encodings
internal import Identity
internal import Store
internal import Tokens

/// The `claims` of a rule: custom claims, any of which suffices.
struct ConfiguredClaims: ClaimCondition {
  /// A claim with one of its values.
  struct Claim: Hashable {
    var name: String
    var value: String

    /// Reads `name=value`. nil: the text has another form.
    init?(_ text: String) {
      guard let equals = text.firstIndex(of: "="), equals != text.startIndex else { return nil }
      name = String(text[..<equals])
      value = String(text[text.index(after: equals)...])
    }

    /// Whether the claim has the value, or is a list that contains it.
    func matches(_ claim: JSONValue) -> Bool {
      switch claim {
      case .string(let text): text == value
      case .bool(let flag): String(flag) == value
      case .int(let number): String(number) == value
      case .array(let values): values.contains(where: matches)
      case .null, .double, .object: false
      }
    }
  }

  var claims: [Claim]

  func matches(_ json: String) -> Bool {
    guard !json.isEmpty, let value = try? JSONValue.parse(Array(json.utf8), byteCountMax: json.utf8.count) else {
      return false
    }
    return claims.contains { claim in value[claim.name].map(claim.matches) ?? false }
  }
}

extension Settings {
  private static let secondFactorPath = "policy.require_second_factor"

  mutating func readSecondFactorRules(_ group: inout SettingsReader) throws(ConfigurationError) {
    policy.secondFactorRules = try group.groups("require_second_factor") { rule throws(ConfigurationError) in
      try Settings.readSecondFactorRule(&rule)
    }
  }

  private static func readSecondFactorRule(
    _ reader: inout SettingsReader
  ) throws(ConfigurationError) -> SecondFactorRule {
    let callers = try reader.texts(
      "callers", [], "names of the callers whose sessions need a second factor; empty: all")
    let texts = try reader.texts(
      "claims", [], "custom claims as name=value, any of which suffices; empty: all accounts")
    let day = try reader.text(
      "since", "", "day from which the rule is in force, as in 2026-12-01 (UTC); the grace period begins then")
    let days = try reader.integer(
      "grace_days", 14, 0...365,
      "days from since, or from the creation of a newer account, until sessions are restricted")
    let claims = try texts.map { text throws(ConfigurationError) in
      guard let claim = ConfiguredClaims.Claim(text) else { throw reader.wrong("claims", "\(text) is not name=value") }
      return claim
    }
    guard day.utf8.count == 10, let millis = moment(ofRFC3339: day + "T00:00:00Z") else {
      throw reader.wrong("since", "it must be a day such as 2026-12-01")
    }
    return SecondFactorRule(
      callers: Set(callers.map(CallerName.init)), claims: claims.isEmpty ? nil : ConfiguredClaims(claims: claims),
      since: Timestamp(millis: millis), graceMillis: Int64(days) * 86_400_000)
  }

  /// Checks the names of the callers, which are read after the policy.
  func checkSecondFactorRules() throws(ConfigurationError) {
    // After an error in a caller, its name is unknown.
    guard leftOut["callers"] == nil else { return }
    let known = Set(callers.map(\.name) + [Settings.unidentifiedName])
    for (position, rule) in policy.secondFactorRules.enumerated() {
      guard let unknown = rule.callers.map(\.text).sorted().first(where: { !known.contains($0) }) else { continue }
      let place = "\(Settings.secondFactorPath)[\(index(position, in: Settings.secondFactorPath))]"
      throw ConfigurationError(setting: "\(place).callers", why: "there is no caller \(unknown)")
    }
  }
}
