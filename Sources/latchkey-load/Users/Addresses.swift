/// Email addresses of existing accounts, as a pattern such as `user{0-999999}@example.com`.
struct Addresses: Equatable {
  private let before: String
  private let after: String
  private let numbers: ClosedRange<Int>

  init?(_ pattern: String) {
    guard let match = pattern.wholeMatch(of: /([^{}]*)\{(\d{1,9})-(\d{1,9})\}([^{}]*)/),
      let first = Int(match.2), let last = Int(match.3), first <= last
    else { return nil }
    (before, after, numbers) = (String(match.1), String(match.4), first...last)
  }

  func draw(_ generator: inout SeededGenerator) -> String {
    before + String(Int.random(in: numbers, using: &generator)) + after
  }
}
