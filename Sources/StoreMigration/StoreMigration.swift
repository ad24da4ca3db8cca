// StoreMigration: work on stores while no server runs. Copies an embedded store into PostgreSQL, and restores a backup.
//
// Owns: the order of a move, the comparison of both sides, and when a move takes effect; the digest of a backup.
// Does not own: how each backend is read, written and replaced (StoreSQLite, StorePostgres), what the operator sees.
// Read next: Restore.swift, ComparedTable.swift, StoreSQLite/SQLiteTables.swift, StorePostgres/PostgresTables.swift.

import Store
import StorePostgres
import StoreSQLite

/// The reason why nothing was moved.
package enum MoveError: Error, Equatable {
  /// The file cannot be the source.
  case source(String)
  case unreachable(String)
  /// The database cannot be the target.
  case target(String)
  /// The database returned other data than the file contains.
  case differs([ComparedTable])
  /// The connection was lost during the commit.
  case unknown(String)
}

/// The step in progress, to show to the operator.
package enum MoveStep: Equatable, Sendable {
  case checking
  case copying(table: String, rows: Int)
  case comparing(table: String)
}

/// The result of a move.
package struct Moved: Sendable {
  package var tables: [ComparedTable]
  /// The number of texts with NUL, the one character that PostgreSQL cannot store. It was replaced.
  package var changedTexts: Int
}

/// A move, in one transaction of the database.
///
/// The transaction is committed after both sides were read again and compared. A server finds everything or nothing,
/// however this process ends. No marker is needed.
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

  /// Returns the fault in the operator's connection string. nil: it is valid.
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

  // MARK: Steps

  func copy() throws(MoveError) {
    // The counts are recomputed from the moved rows, so the comparison also checks them.
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

  /// Reads both sides again and compares them.
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
    case .corrupt(let text): self = .source("it is corrupt: \(text)")
    case .closed: self = .source("it is closed")
    }
  }

  fileprivate init(_ error: TablesError) {
    self = error.isUnreachable ? .unreachable(error.text) : .target(error.text)
  }
}
