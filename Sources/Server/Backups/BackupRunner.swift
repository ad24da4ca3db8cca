internal import Configuration
internal import Identity
internal import Observability
internal import Reactor
internal import Store
internal import Synchronization

/// Backups of the store to a folder, on a background thread and one at a time.
final class BackupRunner: Backups {
  private static let niceness: Int32 = 10

  private let store: any Store
  private let folder: BackupFolder
  private let limitMillis: Int64
  private let log: Log
  private let isBusy = Atomic<Bool>(false)
  private let newestMillis: Atomic<Int64>
  private let worker = Workers(name: "backup", count: 1, queueMax: 2, niceness: BackupRunner.niceness)

  /// - Parameter limitMillis: maximum duration of a backup, since the store's log grows during it.
  init(_ store: any Store, _ folder: BackupFolder, limitMillis: Int64, log: Log) throws {
    self.store = store
    self.folder = folder
    self.limitMillis = limitMillis
    self.log = log
    newestMillis = Atomic(try folder.newest()?.millis ?? 0)
  }

  deinit { worker.close() }

  /// Request time of the newest backup, including those that existed at the start. The backup contains all changes
  /// acknowledged before it. 1970 means that there is none.
  var newest: Timestamp { Timestamp(millis: newestMillis.load(ordering: .relaxed)) }

  func make(
    at now: Timestamp, commitDecision: CommitDecision, remember: @Sendable (BackupRecord) async throws -> Void
  ) async throws -> BackupRecord {
    guard !isBusy.exchange(true, ordering: .acquiringAndReleasing) else {
      throw Failure(.backupInProgress, hint: "Wait until the current backup completes.", retryAfterMillis: 10_000)
    }
    defer { isBusy.store(false, ordering: .releasing) }
    let begun = monotonicMillis()
    let name = BackupFolder.name(at: now)
    let (folder, deadline) = (folder, begun + limitMillis)
    let isWanted: @Sendable () -> Bool = { !commitDecision.isCancelled && monotonicMillis() < deadline }
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
      let failure = BackupRunner.failure(error, isCancelled: commitDecision.isCancelled)
      log.error("the backup failed", ["why": "\(failure)"])
      throw failure
    }
  }

  /// Removes older backups. The new backup is valid even if this fails.
  private func makeRoom(beside name: String) async {
    do {
      try await work { [folder] in try folder.makeRoom(beside: name) }
    } catch {
      log.error("cannot remove older backups", ["why": "\(error)"])
    }
  }

  private func work<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await worker.run { Result { try body() } }.get()
  }

  private static func failure(_ error: any Error, isCancelled: Bool) -> any Error {
    switch error {
    case StoreCopyError.unsupported(let hint): Failure(.backupNotSupported, hint: hint)
    case StoreCopyError.unwanted where isCancelled: Failure(.cancelled)
    case StoreCopyError.unwanted:
      Failure(.backupFailed, hint: "Increase `store.backup_seconds`; the backup took longer than it allows.")
    case StoreCopyError.full: full
    case StoreCopyError.failed(let why): Failure(.backupFailed, hint: "Check the server's log.", debug: why)
    case let error as SystemError where error.isFullDisk: full
    case let error as SystemError: Failure(.backupFailed, hint: "Check the server's log.", debug: "\(error)")
    case let error as StoreError: Failure(storeError: error)
    default: error
    }
  }

  private static var full: Failure {
    Failure(.backupStorageFull, hint: "Free space in the backup folder; the incomplete backup was removed.")
  }
}

extension Settings {
  /// Creates the backup runner; returns `nil` if backups are disabled.
  /// - Parameter store: the store to back up.
  func backupRunner(of store: any Store, log: Log) throws -> BackupRunner? {
    guard !backupFolder.isEmpty else { return nil }
    let folder = try BackupFolder(backupFolder, keptMax: backupsKeptMax)
    return try BackupRunner(store, folder, limitMillis: backupMillis, log: log)
  }
}
