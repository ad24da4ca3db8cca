package import Store

/// A position among the events, which a watcher keeps between two calls.
package struct EventCursor: Hashable, Sendable {
  /// Format of the cursor, which distinguishes it from later formats.
  private static let version: Character = "a"

  /// Position of the last processed event. 0: none.
  package var position: Int64

  package init(position: Int64) { self.position = position }

  /// Parses a cursor. Returns nil if this service did not make it. Each position has exactly one text.
  package init?(_ text: String) {
    guard text.first == EventCursor.version, let position = Int64(text.dropFirst(), radix: 36), position >= 0 else {
      return nil
    }
    self.init(position: position)
    guard self.text == text else { return nil }
  }

  package var text: String { String(EventCursor.version) + String(position, radix: 36) }
}

/// Events of one read.
package struct EventBatch: Hashable, Sendable {
  /// Events of the requested types, in order.
  package var events: [AuditRecord]
  /// Where the next read begins.
  package var cursor: EventCursor
  /// Whether no further events are available now.
  package var isLast: Bool
}

/// The events after a cursor. Without a cursor: no events, and the current cursor.
package struct ReadEvents: Reading {
  /// Maximum number of events in one read. It is small, so that no other call waits long and the answer fits in what a
  /// connection may hold.
  package static let eventsMax = 64

  private let after: EventCursor?
  private let types: Set<String>

  /// - Parameter types: empty for all types.
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
    // A database that was restored from a backup continues from its last event. A watcher that saw lost events must
    // start again.
    guard after.position <= facts.lastEvent else {
      throw Failure(
        .invalidField, field: "cursor", hint: "The cursor is ahead of all events. Start again without a cursor.")
    }
    let reached = facts.events.last?.position ?? after.position
    return EventBatch(
      events: types.isEmpty ? facts.events : facts.events.filter { types.contains($0.event) },
      cursor: EventCursor(position: reached), isLast: reached >= facts.lastEvent)
  }
}
