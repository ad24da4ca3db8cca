internal import Identity
internal import Reactor
internal import Store
internal import Synchronization

/// Makes backups of the store into a folder, on a thread behind the reactors, and never two at once.
final class BackupDesk: Backups {
  private static let niceness: Int32 = 10

  private let store: any Store
  private let folder: BackupFolder
  private let limitMillis: Int64
  private let log: Log
  private let isBusy = Atomic<Bool>(false)
  private let newestMillis: Atomic<Int64>
  private let worker = Workers(name: "backup", count: 1, queueMax: 2, niceness: BackupDesk.niceness)

  /// - Parameter limitMillis: the longest that one may take: the store's log grows meanwhile.
  init(_ store: any Store, _ folder: BackupFolder, limitMillis: Int64, log: Log) throws {
    self.store = store
    self.folder = folder
    self.limitMillis = limitMillis
    self.log = log
    newestMillis = Atomic(try folder.newest()?.millis ?? 0)
  }

  deinit { worker.close() }

  /// When the newest backup was asked for, of those that the folder had at the start and those that were made since;
  /// what was answered before is in it. 1970: there is none.
  var newest: Timestamp { Timestamp(millis: newestMillis.load(ordering: .relaxed)) }

  func make(
    at now: Timestamp, fate: Fate, remember: @Sendable (BackupRecord) async throws -> Void
  ) async throws -> BackupRecord {
    guard !isBusy.exchange(true, ordering: .acquiringAndReleasing) else {
      throw Failure(.backupInProgress, hint: "Another backup is being made: wait for it.", retryAfterMillis: 10_000)
    }
    defer { isBusy.store(false, ordering: .releasing) }
    let begun = monotonicMillis()
    let name = BackupFolder.name(at: now)
    let (folder, deadline) = (folder, begun + limitMillis)
    let isWanted: @Sendable () -> Bool = { !fate.isCancelled && monotonicMillis() < deadline }
    do {
      let place = try await work { try folder.begin(name) }
      let copy = try await store.copy(to: place, while: isWanted)
      let (byteCount, sha256) = try await work { try folder.seal(name, while: isWanted) }
      let record = BackupRecord(fileName: name, byteCount: byteCount, sha256: sha256, copy: copy, createdAt: now)
      try await remember(record)
      try await work { try folder.publish(name) }
      newestMillis.store(now.millis, ordering: .relaxed)
      await makeRoom(beside: name)
      let took = monotonicMillis() - begun
      log.info("backup made", ["file": name, "bytes": "\(byteCount)", "took_millis": "\(took)"])
      return record
    } catch {
      try? await work { folder.discard(name) }
      let failure = BackupDesk.failure(error, isCancelled: fate.isCancelled)
      log.error("no backup was made", ["why": "\(failure)"])
      throw failure
    }
  }

  /// A backup is one, also where an older one cannot be removed.
  private func makeRoom(beside name: String) async {
    do {
      try await work { [folder] in try folder.makeRoom(beside: name) }
    } catch {
      log.error("older backups stay", ["why": "\(error)"])
    }
  }

  private func work<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await worker.run { Result { try body() } }.get()
  }

  private static func failure(_ error: any Error, isCancelled: Bool) -> any Error {
    switch error {
    case StoreCopyError.unsupported(let hint): Failure(.backupNotSupported, hint: hint)
    case StoreCopyError.unwanted where isCancelled: Failure(.cancelled)
    case StoreCopyError.unwanted: Failure(.backupFailed, hint: "It took longer than store.backup_seconds allows.")
    case StoreCopyError.full: full
    case StoreCopyError.failed(let why): Failure(.backupFailed, hint: "The server's log says why.", debug: why)
    case let error as SystemError where error.isFullDisk: full
    case let error as SystemError: Failure(.backupFailed, hint: "The server's log says why.", debug: "\(error)")
    case let error as StoreError: Failure(storeError: error)
    default: error
    }
  }

  private static var full: Failure {
    Failure(.backupStorageFull, hint: "There is no room in the backup folder. Nothing was left in it.")
  }
}

extension Settings {
  /// nil: none are made.
  /// - Parameter store: what is backed up.
  func backupDesk(of store: any Store, log: Log) throws -> BackupDesk? {
    guard !backupFolder.isEmpty else { return nil }
    let folder = try BackupFolder(backupFolder, keptMax: backupsKeptMax)
    return try BackupDesk(store, folder, limitMillis: backupMillis, log: log)
  }
}
