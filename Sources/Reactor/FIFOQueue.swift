// Public for the same reason as SlotTable.

/// A queue, first in, first out. It releases each element that it returns.
///
/// The places of popped elements stay in the buffer until they are at least 256 and half of it.
@frozen public struct FIFOQueue<Element> {
  @usableFromInline var elements: [Element?] = []
  @usableFromInline var start = 0

  @inlinable public init() {}

  @inlinable public var count: Int { elements.count - start }
  @inlinable public var isEmpty: Bool { count == 0 }
  @inlinable public var first: Element? { isEmpty ? nil : elements[start] }

  @inlinable public mutating func append(_ element: Element) { elements.append(element) }

  @inlinable public mutating func popFirst() -> Element? {
    guard start < elements.count else { return nil }
    defer {
      start += 1
      if start == elements.count {
        elements.removeAll(keepingCapacity: true)
        start = 0
      } else if start >= 256, start * 2 >= elements.count {
        elements.removeFirst(start)
        start = 0
      }
    }
    return elements[start].take()
  }
}

extension FIFOQueue: Sendable where Element: Sendable {}
