import Encodings
import Testing

struct StreamSafeTextTests {
  private func marks(_ count: Int) -> String {
    (0..<count).map { $0.isMultiple(of: 2) ? "\u{301}" : "\u{323}" }.joined()
  }

  @Test(arguments: [(0, true), (30, true), (31, false), (1000, false)])
  func `Thirty combining marks in a row are accepted, and one more is rejected (UAX #15, 13)`(
    count: Int, isSafe: Bool
  ) {
    #expect(StreamSafeText.holds("a" + marks(count)) == isSafe)
    #expect(StreamSafeText.holds(marks(count) + "z") == isSafe)
  }

  @Test(arguments: ["", "plain", "Zażółć gęślą jaźń", "中文", "한국어", "हिन्दी", "ภาษาไทย", "🧑‍🧑‍🧒‍🧒", "é\u{323}"])
  func `Ordinary text of many languages is safe`(text: String) {
    #expect(StreamSafeText.holds(text))
  }

  @Test func `A letter between the marks begins a new row`() {
    #expect(StreamSafeText.holds([String](repeating: "a" + marks(30), count: 100).joined()))
  }
}
