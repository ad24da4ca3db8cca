/// The lifetime of a message as its language writes it: "10 minutes", "1 hour", "6 hours", "3 days".
struct Lifetime {
  /// Singular and plural of each unit, from the smallest to the largest.
  struct Units: Sendable {
    let minute, hour, day: (one: String, several: String)
  }

  private static let minutesInHour: Int64 = 60
  private static let minutesInDay: Int64 = 24 * minutesInHour

  private static let units: [String: Units] = [
    "en": Units(minute: ("minute", "minutes"), hour: ("hour", "hours"), day: ("day", "days")),
    // In the accusative case, as in "The link is valid for …".
    "de": Units(minute: ("Minute", "Minuten"), hour: ("Stunde", "Stunden"), day: ("Tag", "Tage")),
  ]

  /// Minutes, rounded down, at least 1.
  let minutes: Int64

  init(millis: Int64) { minutes = max(1, millis / 60_000) }

  /// Returns whether templates of this language can use the text.
  static func isWritten(in language: String) -> Bool { units(of: language) != nil }

  /// Returns the lifetime in the largest unit that divides it, or nil if the language has no units here. Days start at
  /// two: "24 hours" is clearer than "1 day".
  func text(in language: String) -> String? {
    guard let units = Lifetime.units(of: language) else { return nil }
    let (count, unit) =
      if minutes % Lifetime.minutesInDay == 0, minutes > Lifetime.minutesInDay {
        (minutes / Lifetime.minutesInDay, units.day)
      } else if minutes % Lifetime.minutesInHour == 0 {
        (minutes / Lifetime.minutesInHour, units.hour)
      } else {
        (minutes, units.minute)
      }
    return "\(count) \(count == 1 ? unit.one : unit.several)"
  }

  private static func units(of language: String) -> Units? {
    units[String(language.prefix { $0 != "-" })]
  }
}
