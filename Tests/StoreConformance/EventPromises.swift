import Store

extension Promise {
  static let events = [
    Promise("audit rows are read in the order of their commits, each as it was written") { bench in
      var rows = (1...3).map { bench.event($0, at: Int64(10 - $0)) }
      try await bench.prepare(.record(.appendAudit(rows[0])))
      try await bench.prepare(.record(.appendAudit(rows[1])), .record(.appendAudit(rows[2])))
      for index in rows.indices { rows[index].position = Int64(index + 1) }
      try bench.equal(try await bench.events(after: 0), rows)
      try bench.equal(try await bench.events(after: 1, rowsMax: 1), [rows[1]])
      try bench.equal(try await bench.events(after: 3), [])
      let facts = try await bench.load { $0.events = EventRange(after: .max, rowsMax: 1) }
      try bench.equal(facts.lastEvent, 3)
      try bench.equal(facts.events, [])
    },
    Promise("a change that is not committed leaves no row, and no gap that another could fill later") { bench in
      try await bench.prepare(.account(.insert(bench.account("ann"))), .record(.appendAudit(bench.event(1))))
      try bench.equal(
        try await bench.commit(.record(.appendAudit(bench.event(2))), .account(.insert(bench.account("ann")))),
        .conflict(.accountID))
      try await bench.prepare(.record(.appendAudit(bench.event(3))))
      try bench.equal(try await bench.events(after: 0).map(\.position), [1, 2])
    },
    Promise("positions continue when the store is opened again, even if all rows were swept") { bench in
      for number in 1...3 { try await bench.prepare(.record(.appendAudit(bench.event(number)))) }
      let after = bench.later(1)
      try bench.equal(try await bench.store.sweep(at: bench.later(0), rowsMax: 10, auditedBefore: after), 2)
      await bench.store.close()
      let store = try await bench.open()
      let again = Bench(store: store, open: bench.open)
      try await again.prepare(.record(.appendAudit(bench.event(4))))
      try bench.equal(try await again.events(after: 0).map(\.position), [3, 4])
      await store.close()
    },
    Promise("a sweep removes audit rows from before a time, the oldest first and up to a limit") { bench in
      for number in 1...5 { try await bench.prepare(.record(.appendAudit(bench.event(number, at: Int64(number))))) }
      for removed in [2, 1, 0] {
        try bench.equal(
          try await bench.store.sweep(at: bench.later(0), rowsMax: 2, auditedBefore: bench.later(4)), removed)
      }
      try bench.equal(try await bench.events(after: 0).map(\.id), ["event 4", "event 5"])
      try bench.equal(try await bench.store.sweep(at: bench.later(0), rowsMax: 9), 0)
    },
  ]
}

extension Bench {
  func event(_ number: Int, at millis: Int64 = 0) -> AuditRecord {
    AuditRecord(
      id: "event \(number)", at: later(millis), accountID: "ann", event: "LINKED", caller: CallerName("shop"),
      detailsJSON: #"{"provider_id":"google.com"}"#)
  }

  func events(after position: Int64, rowsMax: Int = 100) async throws -> [AuditRecord] {
    try await load { $0.events = EventRange(after: position, rowsMax: rowsMax) }.events
  }
}
