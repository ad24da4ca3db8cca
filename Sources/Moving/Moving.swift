// Moving: everything that an embedded store holds, copied into PostgreSQL while no server runs.
//
// Owns: the order of a move, the comparison of both sides, and when a move counts.
// Does not own: how either backend is read and written (StoreSQLite, StorePostgres), what its operator is shown.
// Read next: ComparedTable.swift, StoreSQLite/SQLiteTables.swift, StorePostgres/PostgresTables.swift.

import Store
import StorePostgres
import StoreSQLite

/// Why nothing was moved.
package enum MoveError: Error, Equatable {
  /// The file cannot be moved from.
  case source(String)
  case unreachable(String)
  /// The database cannot be moved into.
  case target(String)
  /// What was read back is not what the file holds.
  case differs([ComparedTable])
  /// The connection was lost right when all was to be made to count.
  case unknown(String)
}

/// What is under way, for people who wait.
package enum MoveStep: Equatable, Sendable {
  case checking
  case copying(table: String, rows: Int)
  case comparing(table: String)
}

/// What a move has come to.
package struct Moved: Sendable {
  package var tables: [ComparedTable]
  /// Texts with the one character that PostgreSQL cannot keep, which has taken another form.
  package var changedTexts: Int
}

/// One move. All of it is one transaction of the database, which is committed after both sides were read once more and
/// compared: a server finds everything or nothing, whatever becomes of this process, and needs no mark to tell.
package final class Move {
  private let source: SQLiteTables
  let target: PostgresTables
  private let tell: (MoveStep) -> Void
  private var changedTexts = 0

  /// Opens both sides and checks the file, page by page and index by index.
  package init(
    from path: String, to conninfo: String, passwordFile: String = "", tell: @escaping (MoveStep) -> Void = { _ in }
  ) throws(MoveError) {
    self.tell = tell
    do throws(StoreError) {
      source = try SQLiteTables(path: path)
      tell(.checking)
      let faults = try source.integrityCheck()
      guard faults == ["ok"] else { throw StoreError.corrupt(faults.joined(separator: "; ")) }
    } catch {
      throw MoveError(error)
    }
    do throws(TablesError) {
      target = try PostgresTables(conninfo: conninfo, passwordFile: passwordFile)
    } catch {
      throw MoveError(error)
    }
  }

  /// What is wrong with how an operator names the database; nil: nothing.
  package static func fault(ofConninfo conninfo: String, passwordOption: String) -> String? {
    ConnectionInfo.fault(of: conninfo, passwordOption: passwordOption)
  }

  package func run() throws(MoveError) -> Moved {
    try copy()
    let tables = try compare()
    guard tables.allSatisfy(\.isSame) else { throw .differs(tables) }
    try commit()
    return Moved(tables: tables, changedTexts: changedTexts)
  }

  // MARK: Its parts

  func copy() throws(MoveError) {
    // The counts are made anew, of the rows that were moved; so the comparison finds whether they agree.
    for table in StoredTable.allCases where table != .pendingCounts { try copy(table) }
    try onTarget { () throws(TablesError) in try target.complete() }
  }

  func copy(_ table: StoredTable) throws(MoveError) {
    var count = 0
    tell(.copying(table: table.name, rows: count))
    let rows = try onSource { () throws(StoreError) in try source.rows(of: table) }
    try onTarget { () throws(TablesError) in try target.begin(table) }
    while let portion = try onSource({ () throws(StoreError) in try rows.next() }) {
      try onTarget { () throws(TablesError) in try target.put(portion, into: table) }
      count += portion.count
      tell(.copying(table: table.name, rows: count))
    }
    try onTarget { () throws(TablesError) in try target.end(table) }
    changedTexts += rows.changedTexts
  }

  /// What each side holds now, read from it.
  func compare() throws(MoveError) -> [ComparedTable] {
    var tables: [ComparedTable] = []
    for table in StoredTable.allCases {
      tell(.comparing(table: table.name))
      let held = try onSource { () throws(StoreError) in
        let rows = try source.rows(of: table)
        return try TableSum { () throws(StoreError) in try rows.next() }
      }
      let moved = try onTarget { () throws(TablesError) in
        let rows = try target.rows(of: table)
        return try TableSum { () throws(TablesError) in try rows.next() }
      }
      tables.append(ComparedTable(name: table.name, source: held, target: moved))
    }
    return tables
  }

  func commit() throws(MoveError) {
    do throws(TablesError) {
      try target.commit()
    } catch {
      throw error.isUnreachable ? .unknown(error.text) : .target(error.text)
    }
  }

  // MARK: Errors

  private func onSource<Value>(_ body: () throws(StoreError) -> Value) throws(MoveError) -> Value {
    do throws(StoreError) {
      return try body()
    } catch {
      throw MoveError(error)
    }
  }

  private func onTarget<Value>(_ body: () throws(TablesError) -> Value) throws(MoveError) -> Value {
    do throws(TablesError) {
      return try body()
    } catch {
      throw MoveError(error)
    }
  }
}

extension MoveError {
  fileprivate init(_ error: StoreError) {
    switch error {
    case .unavailable(let text), .unusable(let text): self = .source(text)
    case .corrupt(let text): self = .source("it is damaged: \(text)")
    case .closed: self = .source("it is closed")
    }
  }

  fileprivate init(_ error: TablesError) {
    self = error.isUnreachable ? .unreachable(error.text) : .target(error.text)
  }
}
