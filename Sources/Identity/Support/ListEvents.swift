import Encodings
package import Store

/// What happened to an account.
package enum AccountEvent: Hashable, Sendable {
  case event(AuditRecord)
  case failures(FailureRecord)

  package var at: Timestamp {
    switch self {
    case .event(let record): record.at
    case .failures(let record): record.lastAt
    }
  }
}

/// A page of an account's events and failures, newest first.
package struct AccountEventPage: Hashable, Sendable {
  package var accountID: String
  package var events: [AccountEvent]
  /// nil: this is the last page.
  package var nextToken: String?
}

package struct ListEventsRequest: Hashable, Sendable {
  package var subject: AccountSubject
  /// Only what happened at this time or later.
  package var since: Timestamp?
  /// Names of event types. Empty: all, and the failures.
  package var types: Set<String>
  package var failuresOnly: Bool
  package var rowsMax: Int
  package var pageToken: String

  package init(
    subject: AccountSubject, since: Timestamp? = nil, types: Set<String> = [], failuresOnly: Bool = false,
    rowsMax: Int = ListEvents.usualRows, pageToken: String = ""
  ) {
    self.subject = subject
    self.since = since
    self.types = types
    self.failuresOnly = failuresOnly
    self.rowsMax = rowsMax
    self.pageToken = pageToken
  }
}

/// The events of an account and its failed attempts, newest first.
///
/// A call reads a bounded number of rows, so a page may have fewer events than requested although more follow.
package struct ListEvents: Sendable {
  package static let rowsMax = 200
  package static let usualRows = 50
  /// The number of audit rows that one call reads to find events of the requested types.
  static let scannedMax = 1_000
  /// Rows are ordered by their commits. One that was decided this much before an earlier one may follow it.
  static let disorderMillis: Int64 = 300_000

  private let environment: Environment

  package init(_ environment: Environment) { self.environment = environment }

  package func callAsFunction(_ request: ListEventsRequest) async throws -> AccountEventPage {
    let place = request.pageToken.isEmpty ? EventPlace() : try EventPlace(token: request.pageToken)
    let found = try await environment.first(request.subject.query)
    let state = request.subject.account(in: found)
    guard let id = state?.account.id ?? request.subject.statedID else { throw found.noAccount() }
    var support = SupportQuery()
    support.accountID = id
    if !request.failuresOnly {
      support.events = EventsBefore(position: place.position, rowsMax: request.scannedMax)
    }
    if request.types.isEmpty {
      support.failures = environment.failureOwners(state, id: id, request.subject).map {
        FailuresBefore(of: $0, before: place.lastAt, key: place.key, rowsMax: request.rowsMax + 1)
      }
    }
    var query = Query()
    query.support = support
    let rows = try await environment.load(query).support ?? SupportFacts()
    if state == nil, found.closedAccount == nil, place == EventPlace(), rows.events.isEmpty, rows.failures.isEmpty {
      throw found.noAccount()
    }
    return ListEvents.page(of: id, rows, request, from: place)
  }

  /// Merges both kinds of rows by time.
  static func page(
    of accountID: String, _ rows: SupportFacts, _ request: ListEventsRequest, from start: EventPlace
  ) -> AccountEventPage {
    let since = request.since ?? Timestamp(millis: .min)
    // More events may follow those that were read.
    var mayFollow = rows.events.count == request.scannedMax
    var (place, events) = (start, [AccountEvent]())
    var audits = rows.events[...]
    var failures = rows.failures.sorted { $1.precedes($0) }[...]
    while events.count < request.rowsMax, !audits.isEmpty || !failures.isEmpty {
      if let failure = failures.first, audits.first.map({ $0.at <= failure.lastAt }) ?? true {
        failures.removeFirst()
        (place.lastAt, place.key) = (failure.lastAt, failure.key)
        if failure.lastAt >= since { events.append(.failures(failure)) } else { failures = [] }
      } else if let audit = audits.popFirst() {
        place.position = audit.position
        if audit.at.adding(millis: ListEvents.disorderMillis) < since {
          (audits, mayFollow) = ([], false)
        } else if audit.at >= since, request.types.isEmpty || request.types.contains(audit.event) {
          events.append(.event(audit))
        }
      }
    }
    let isLast = audits.isEmpty && failures.isEmpty && !mayFollow
    return AccountEventPage(accountID: accountID, events: events, nextToken: isLast ? nil : place.token)
  }
}

extension ListEventsRequest {
  /// The number of audit rows to read.
  fileprivate var scannedMax: Int { types.isEmpty ? rowsMax + 1 : ListEvents.scannedMax }
}

extension FailureRecord {
  fileprivate func precedes(_ other: FailureRecord) -> Bool {
    lastAt == other.lastAt ? key.bytes.lexicographicallyPrecedes(other.key.bytes) : lastAt < other.lastAt
  }
}

/// A place in the merged rows.
struct EventPlace: Hashable, Sendable {
  private static let version: UInt8 = 1

  var position: Int64 = .max
  var lastAt = Timestamp(millis: .max)
  var key = FailuresBefore.lastKey

  init() {}

  init(token: String) throws(Failure) {
    guard let bytes = Base64URL.decode(token), bytes.count == 49, bytes[0] == EventPlace.version else {
      throw Failure(.invalidField, field: "page_token", hint: "Use `next_page_token` of the previous page.")
    }
    position = EventPlace.number(bytes[1..<9])
    lastAt = Timestamp(millis: EventPlace.number(bytes[9..<17]))
    key = Digest(Array(bytes[17...]))
  }

  var token: String {
    var packer = Packer()
    packer.append(EventPlace.version)
    packer.append(position)
    packer.append(lastAt.millis)
    return Base64URL.encode(packer.bytes + key.bytes)
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
  }
}

extension AccountSubject {
  fileprivate var statedID: String? {
    if case .accountID(let id) = self { id } else { nil }
  }
}
