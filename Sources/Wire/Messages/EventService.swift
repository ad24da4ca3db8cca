// The meaning of each field stands in proto/latchkey/v1/event_service.proto.

internal import Messages

package struct WatchEventsRequest: Sendable, Equatable {
  package var cursor: String
  package var types: [String]

  package init(cursor: String = "", types: [String] = []) {
    self.cursor = cursor
    self.types = types
  }
}

extension WatchEventsRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__WatchEventsRequest> { unsafe latchkey__v1__watch_events_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__WatchEventsRequest>) {
    unsafe self.init(cursor: text(form.pointee.cursor), types: texts(form.pointee.n_types, form.pointee.types))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__WatchEventsRequest>, _ arena: Arena) {
    unsafe form.pointee.cursor = arena.text(cursor)
    unsafe (form.pointee.n_types, form.pointee.types) = arena.texts(types)
  }
}

package struct WatchEventsResponse: Sendable, Equatable {
  package var cursor: String
  package var event: Event?

  package init(cursor: String = "", event: Event? = nil) {
    self.cursor = cursor
    self.event = event
  }
}

extension WatchEventsResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__WatchEventsResponse> { unsafe latchkey__v1__watch_events_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__WatchEventsResponse>) {
    unsafe self.init(cursor: text(form.pointee.cursor), event: one(form.pointee.event))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__WatchEventsResponse>, _ arena: Arena) {
    unsafe form.pointee.cursor = arena.text(cursor)
    unsafe form.pointee.event = arena.one(event)
  }
}

package struct Event: Sendable, Equatable {
  package var eventID: String
  package var type: String
  package var occurredAtMillis: Int64?
  package var accountID: String
  package var caller: String
  package var detailsJSON: String

  package init(
    eventID: String = "", type: String = "", occurredAtMillis: Int64? = nil, accountID: String = "",
    caller: String = "", detailsJSON: String = ""
  ) {
    self.eventID = eventID
    self.type = type
    self.occurredAtMillis = occurredAtMillis
    self.accountID = accountID
    self.caller = caller
    self.detailsJSON = detailsJSON
  }
}

extension Event: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__Event> { unsafe latchkey__v1__event__init }

  init(_ form: UnsafePointer<Latchkey__V1__Event>) {
    unsafe self.init(
      eventID: text(form.pointee.event_id), type: text(form.pointee.type),
      occurredAtMillis: millis(form.pointee.occurred_at), accountID: text(form.pointee.account_id),
      caller: text(form.pointee.caller), detailsJSON: text(form.pointee.details_json))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__Event>, _ arena: Arena) {
    unsafe form.pointee.event_id = arena.text(eventID)
    unsafe form.pointee.type = arena.text(type)
    unsafe form.pointee.occurred_at = arena.timestamp(occurredAtMillis)
    unsafe form.pointee.account_id = arena.text(accountID)
    unsafe form.pointee.caller = arena.text(caller)
    unsafe form.pointee.details_json = arena.text(detailsJSON)
  }
}
