import Store
import Testing

private struct Box: Hashable, Sendable {
  @Boxed var text = ""
  @Held var note: String?
}

@Suite struct BoxedTests {
  @Test("A change of a copy does not change the original, nor a change of the original the copy")
  func copiesAreApart() {
    let original = Box(text: "a", note: "x")
    var copy = original
    copy.text += "b"
    copy.note = nil
    #expect(original.text == "a" && original.note == "x")
    #expect(copy.text == "ab" && copy.note == nil)
    var other = copy
    copy.text += "c"
    other.text += "d"
    #expect(copy.text == "abc" && other.text == "abd")
  }

  @Test("A value passed on by its projection stays the same value")
  func projection() {
    var first = Box(text: "a", note: "x")
    var second = Box(text: "b", note: "y")
    second.$text = first.$text
    second.$note = first.$note
    #expect(second == first)
    first.text = "c"
    first.note = nil
    #expect(second.text == "a" && second.note == "x")
  }

  @Test("Equal values are equal in different boxes, and have the same hash")
  func equality() {
    let (left, right) = (Box(text: "a", note: "x"), Box(text: "a", note: "x"))
    #expect(left == right && left.hashValue == right.hashValue)
    #expect(left != Box(text: "b", note: "x") && left != Box(text: "a", note: nil))
  }
}
