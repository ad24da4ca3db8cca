import Encodings
import Store

/// Everything that is kept about one account, as a JSON document in parts.
///
/// The parts are read one after the other, so a change between two parts may show in the later one only.
package struct ExportAccount: Sendable {
  static let format = 1
  /// Rows of one part: about 64 KiB.
  private static let rowsPerPart = 200

  private let environment: Environment
  private let accountID: String
  private let call: CallFacts

  /// How far the document is written.
  package struct Progress: Sendable {
    fileprivate var document = JSONParts()
    /// The kinds of rows that are still to be read. nil: nothing was written yet.
    fileprivate var kinds: ArraySlice<AccountRowsQuery.Kind>?
    /// The last row that was read of the first kind. nil: none was.
    fileprivate var after: AccountRowsQuery.Place?
    package fileprivate(set) var isOver = false

    package init() {}
  }

  package init(_ environment: Environment, accountID: String, _ call: CallFacts) {
    self.environment = environment
    self.accountID = accountID
    self.call = call
  }

  /// Returns the next part, and the progress after it.
  package func next(after progress: Progress) async throws -> (text: String, progress: Progress) {
    guard let kinds = progress.kinds else { return try await first() }
    guard let kind = kinds.first else { return ("", progress) }
    var progress = progress
    var query = Query()
    query.rows = AccountRowsQuery(
      kind, of: accountID, after: progress.after, rowsMax: ExportAccount.rowsPerPart)
    // Everything that was committed before the call is in the document.
    if kind == .events { query.events = EventRange(after: .max, rowsMax: 0) }
    let facts = try await environment.load(query)
    let text = progress.take(facts.rows, of: kind, rowsMax: ExportAccount.rowsPerPart)
    return (text, progress)
  }

  /// Writes the event, and returns the part about the account itself.
  private func first() async throws -> (text: String, progress: Progress) {
    let now = environment.clock.now()
    var query = Query()
    query.accountID = accountID
    let found = try await environment.load(query)
    guard let known = found.account else { throw found.noAccount() }
    let note = AuditNote(.accountExported, accountID: accountID)
    _ = try await environment.commit(Change([environment.audit(note, call: call, now: now)]), CommitDecision())
    let keys = environment.throttles(of: known, .accountID(accountID), devices: [])
    query.throttles = keys.map(\.key)
    let facts = try await environment.load(query)
    // The account may have been removed since.
    guard let state = facts.account else { throw facts.noAccount() }
    var progress = Progress()
    progress.document.begin("{")
    progress.document.name("format")
    progress.document.raw("\(ExportAccount.format)")
    progress.document.name("exported_at")
    progress.document.text(rfc3339(now.millis))
    progress.document.account(state)
    progress.document.throttles(facts.throttles, keys, at: now)
    progress.kinds = AccountRowsQuery.Kind.allCases[...]
    progress.document.beginRows(of: progress.kinds?.first)
    let text = progress.document.take()
    return (text, progress)
  }
}

extension ExportAccount.Progress {
  /// Appends rows. Continues with the next kind after the last rows of this one.
  fileprivate mutating func take(_ rows: AccountRows?, of kind: AccountRowsQuery.Kind, rowsMax: Int) -> String {
    var isLast = true
    switch rows {
    case .sessions(let sessions): isLast = append(sessions, rowsMax) { .id($0.id) }
    case .pendings(let pendings): isLast = append(pendings, rowsMax) { .digest($0.digest) }
    case .failures(let failures): isLast = append(failures, rowsMax) { .digest($0.key) }
    case .deliveries(let deliveries): isLast = append(deliveries, rowsMax) { .id($0.id) }
    case .sentMessages(let messages): isLast = append(messages, rowsMax) { .id($0.id) }
    case .events(let events):
      for event in events {
        // What came before belongs to an earlier account with the same id.
        if event.event == AuditEvent.forgotten.rawValue {
          isLast = true
          break
        }
        document.event(event)
        isLast = false
      }
      isLast = isLast || events.count < rowsMax
      after = events.last.map { .position($0.position) }
    case nil: break
    }
    guard isLast else { return document.take() }
    document.end("]")
    after = nil
    kinds = kinds?.dropFirst()
    if let next = kinds?.first {
      document.beginRows(of: next)
    } else {
      document.end("}")
      isOver = true
    }
    return document.take()
  }

  /// Appends records. Returns whether they are the last ones of their kind.
  private mutating func append<Record: StoredRecord>(
    _ records: [Record], _ rowsMax: Int, _ place: (Record) -> AccountRowsQuery.Place
  ) -> Bool {
    for record in records { document.record(record) }
    after = records.last.map(place)
    return records.count < rowsMax
  }
}

extension JSONParts {
  fileprivate mutating func beginRows(of kind: AccountRowsQuery.Kind?) {
    guard let kind else { return }
    name(kind.rawValue)
    begin("[")
  }

  fileprivate mutating func account(_ state: AccountState) {
    name("account")
    record(state.account) { members in
      members.name("has_password")
      members.raw(state.account.passwordHash == nil ? "false" : "true")
    }
    records("identities", state.identities)
    records("factors", state.factors)
    records("unlinks", state.unlinks)
  }

  fileprivate mutating func throttles(
    _ records: [ThrottleRecord], _ keys: [UserThrottle], at now: Timestamp
  ) {
    name("throttles")
    begin("[")
    for throttle in keys {
      guard let found = records.first(where: { $0.key == throttle.key }), now < found.expiresAt else { continue }
      record(found) { members in
        members.name("kind")
        members.text(throttle.kind.rawValue)
      }
    }
    end("]")
  }

  fileprivate mutating func event(_ event: AuditRecord) {
    record(event) { members in
      members.name("details")
      members.raw(event.detailsJSON)
    }
  }
}
