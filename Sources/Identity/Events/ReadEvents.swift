package import Store

/// A place among the events, as watchers keep it between two calls.
package struct EventCursor: Hashable, Sendable {
  /// Names the form, so that a later one can tell those of today.
  private static let version: Character = "a"

  /// Of the last event that was dealt with; 0: of none.
  package var position: Int64

  package init(position: Int64) { self.position = position }

  /// nil: not made here. Each place has one spelling.
  package init?(_ text: String) {
    guard text.first == EventCursor.version, let position = Int64(text.dropFirst(), radix: 36), position >= 0 else {
      return nil
    }
    self.init(position: position)
    guard self.text == text else { return nil }
  }

  package var text: String { String(EventCursor.version) + String(position, radix: 36) }
}

/// What one look at the events brought.
package struct EventBatch: Hashable, Sendable {
  /// Of the types that were asked for, in their order.
  package var events: [AuditRecord]
  /// Where the next look begins.
  package var cursor: EventCursor
  /// Nothing is left to be looked at now.
  package var isLast: Bool
}

/// The events after a cursor; without one, none, and the cursor of this moment.
package struct ReadEvents: Reading {
  /// A look is short, so that nobody else waits behind it, and what it brings fits in what a connection may hold.
  package static let eventsMax = 64

  private let after: EventCursor?
  private let types: Set<String>

  /// - Parameter types: none: all.
  package init(after: EventCursor?, types: Set<String>) {
    self.after = after
    self.types = types
  }

  package var query: Query {
    var query = Query()
    query.events = EventRange(after: after?.position ?? .max, rowsMax: ReadEvents.eventsMax)
    return query
  }

  package func answer(_ facts: Facts) throws -> EventBatch {
    guard let after else {
      return EventBatch(events: [], cursor: EventCursor(position: facts.lastEvent), isLast: true)
    }
    // A database that was put back from a copy counts on from there: whoever saw what it has lost must begin anew.
    guard after.position <= facts.lastEvent else {
      throw Failure(.invalidField, field: "cursor", hint: "It is ahead of every event here.")
    }
    let reached = facts.events.last?.position ?? after.position
    return EventBatch(
      events: types.isEmpty ? facts.events : facts.events.filter { types.contains($0.event) },
      cursor: EventCursor(position: reached), isLast: reached >= facts.lastEvent)
  }
}
