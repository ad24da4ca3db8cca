import Testing

@testable import Crypto

@Suite struct CommonPasswordTests {
  private let common = CommonPasswords()
  private let words = CommonPasswords.list.split { $0 == " " || $0 == "\n" }.map(String.init)

  @Test func `every word of the list is found, in any case`() {
    #expect(words.count == 11_611)
    for word in words { #expect(common.contains(word), "\(word)") }
    #expect(common.contains("PassWord1") && common.contains("LATCHKEY12"))
  }

  /// The search needs the order.
  @Test func `the words are in ascending order of their bytes`() {
    for (word, next) in zip(words, words.dropFirst()) {
      #expect(word.utf8.lexicographicallyPrecedes(next.utf8), "\(word) \(next)")
    }
  }

  @Test func `parts of words, longer words and several words are not found`() {
    let all = Set(words)
    for word in words {
      for other in [String(word.dropLast()), word + "~", "~" + word] where !all.contains(other) {
        #expect(!common.contains(other) || isRun(other), "\(other)")
      }
    }
    for text in ["  ", "a\n", "password1 password2", words[0] + " " + words[1], "\u{10FFFF} long enough"] {
      #expect(!common.contains(text) || isRun(text), "\(text)")
    }
  }

  /// Whether the text is one character repeated, or a run such as abcdefgh, which the list need not contain.
  private func isRun(_ text: String) -> Bool {
    let values = text.utf8.map(Int.init)
    let steps = Set(zip(values, values.dropFirst()).map { $1 - $0 })
    return steps.count == 1 && steps.isSubset(of: [-1, 0, 1])
  }
}
