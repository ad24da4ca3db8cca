import Crypto
import FoundationEssentials
import Identity
import Logging
import Reactor
import Store
import Synchronization
import TestSupport
import Testing

@testable import Configuration
@testable import Observability
@testable import Server

private func settings(_ text: String = "") throws -> Settings {
  let tls = "tls: { certificate_file: \"server.pem\", key_file: \"server.key\" }"
  return try Settings.parse(Array("{ \(tls), \(text) }".utf8), folder: "/etc/latchkey", environment: [:])
}

/// A store whose copies have these bytes, or fail. Before each copy it waits for permission.
private final class CopiedStore: Store {
  let bytes: [UInt8]
  let failure: (any Error)?
  let gate = Wakeups()
  let isCopying = Atomic<Bool>(false)

  init(_ bytes: [UInt8] = [1, 2, 3], failure: (any Error)? = nil, isOpen: Bool = true) {
    self.bytes = bytes
    self.failure = failure
    // Enough for every copy of a test.
    for _ in 0..<(isOpen ? 100 : 0) { gate.signal() }
  }

  func attachThread() throws {}
  func detachThread() {}
  func endTurn() {}
  func now(_ query: Query) throws -> Facts? { Facts() }
  func load(_ query: Query) async throws -> Facts { Facts() }
  func now(_ query: SignInMethodsQuery) throws -> SignInMethodsRecord?? { nil }
  func load(_ query: SignInMethodsQuery) async throws -> SignInMethodsRecord? { nil }
  func commit(_ change: Change, commitDecision: CommitDecision) async throws -> Outcome { .committed }
  func sweep(at now: Timestamp, rowsMax: Int, auditedBefore: Timestamp) async throws -> Int { 0 }
  func probe() async throws {}
  func close() async {}

  func copy(to path: String, while isWanted: @escaping @Sendable () -> Bool) async throws -> StoreCopy {
    isCopying.store(true, ordering: .releasing)
    await withCheckedContinuation { continuation in
      startThread(named: "gate") { [gate] in
        gate.wait()
        continuation.resume()
      }
    }
    guard isWanted() else { throw StoreCopyError.unwanted }
    try Data(bytes).write(to: URL(filePath: path))
    try Data([0]).write(to: URL(filePath: path + "-journal"))
    if let failure { throw failure }
    try FileManager.default.removeItem(atPath: path + "-journal")
    return StoreCopy(accountCount: 7, lastEvent: 35)
  }
}

/// The files of the folder without digests, each of which must have its backup.
private func files(_ folder: String) throws -> [String] {
  let every = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  let others = every.filter { !$0.hasSuffix(".db.sha256") }
  for name in every where !others.contains(name) { #expect(others.contains(String(name.dropLast(7)))) }
  return others
}

private func runner(
  _ store: any Store, _ folder: String, keptMax: Int = 0, limitMillis: Int64 = 60_000
) throws -> BackupRunner {
  let log = Log(JSONLines(level: .critical, descriptor: 2))
  return try BackupRunner(store, try BackupFolder(folder, keptMax: keptMax), limitMillis: limitMillis, log: log)
}

private func refusal(_ body: () async throws -> BackupRecord) async -> Failure? {
  do {
    Issue.record("made: \(try await body())")
  } catch {
    return error as? Failure
  }
  return nil
}

private let moment = Timestamp(millis: 1_795_219_200_042)

@Suite struct BackupTests {
  @Test func `a backup is named after its time, and its answer matches its file`() async throws {
    try await withFolder { folder in
      let made = try await runner(CopiedStore(), folder + "/deep/down").make(
        at: moment, commitDecision: CommitDecision()
      ) { record in
        #expect(record.byteCount == 3)
        let there = try files(folder + "/deep/down")
        let drafts = [record.fileName + ".draft", record.fileName + ".draft.sha256"]
        #expect(there == drafts, "no backup before its record is stored")
      }
      #expect(made.fileName.wholeMatch(of: /latchkey-20261121T000000\.042Z-[0-9a-f]{8}\.db/) != nil)
      #expect(made.copy == StoreCopy(accountCount: 7, lastEvent: 35) && made.createdAt == moment)
      #expect(made.sha256 == Digest(sha256([1, 2, 3])) && made.byteCount == 3)
      #expect(try files(folder + "/deep/down") == [made.fileName])
      #expect(readFile("\(folder)/deep/down/\(made.fileName)", bytesMax: 10) == [1, 2, 3])
      let line = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81  \(made.fileName)\n"
      #expect(readFile("\(folder)/deep/down/\(made.fileName).sha256", bytesMax: 200) == Array(line.utf8))
    }
  }

  @Test func `the newest backup is known after each backup`() async throws {
    try await withFolder { folder in
      let runner = try runner(CopiedStore(), folder)
      #expect(runner.newest == Timestamp(millis: 0), "there is none")
      for now in [moment, moment.adding(millis: 5_000)] {
        _ = try await runner.make(at: now, commitDecision: CommitDecision()) { _ in }
        #expect(runner.newest == now)
      }
    }
  }

  @Test func `the newest backup is known after a start, and a failed one does not count`() async throws {
    try await withFolder { folder in
      let names = [
        "1120T235959.999Z-ffffffff.db", "1121T000000.042Z-00000000.db", "1122T000000.000Z-00000000.db.draft",
      ]
      for name in names {
        try Data().write(to: URL(filePath: "\(folder)/latchkey-2026\(name)"))
      }
      let runner = try runner(CopiedStore(failure: StoreCopyError.full), folder)
      #expect(runner.newest == moment)
      _ = await refusal {
        try await runner.make(at: moment.adding(millis: 5_000), commitDecision: CommitDecision()) { _ in }
      }
      #expect(runner.newest == moment)
    }
  }

  @Test func `the digest covers the whole of a long file`() async throws {
    try await withFolder { folder in
      let bytes = (0..<200_001).map { UInt8(truncatingIfNeeded: $0) }
      let made = try await runner(CopiedStore(bytes), folder).make(at: moment, commitDecision: CommitDecision()) { _ in
      }
      #expect(made.sha256 == Digest(sha256(bytes)) && made.byteCount == 200_001)
    }
  }

  @Test func `a concurrent second backup is rejected, and a later one is not`() async throws {
    try await withFolder { folder in
      let store = CopiedStore(isOpen: false)
      let runner = try runner(store, folder)
      let first = Task { try await runner.make(at: moment, commitDecision: CommitDecision()) { _ in } }
      while !store.isCopying.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(1)) }
      let refused = await refusal { try await runner.make(at: moment, commitDecision: CommitDecision()) { _ in } }
      #expect(refused?.reason == .backupInProgress && refused?.retryAfterMillis == 10_000)
      store.gate.signal()
      _ = try await first.value
      store.gate.signal()
      _ = try await runner.make(at: moment, commitDecision: CommitDecision()) { _ in }
      #expect(try files(folder).count == 2)
    }
  }

  @Test(arguments: [
    (StoreCopyError.unsupported("Use pg_dump.") as any Error, Failure.Reason.backupNotSupported),
    (StoreCopyError.full, .backupStorageFull), (StoreCopyError.failed("torn"), .backupFailed),
    (SystemError(code: 28, call: "write"), .backupStorageFull), (SystemError(code: 5, call: "write"), .backupFailed),
    (StoreCopyError.unwanted, .backupFailed), (StoreError.closed, .storeUnavailable),
  ])
  func `a failed copy leaves nothing behind and reports the reason`(
    error: any Error, reason: Failure.Reason
  ) async throws {
    try await withFolder { folder in
      let runner = try runner(CopiedStore(failure: error), folder)
      let refused = await refusal {
        try await runner.make(at: moment, commitDecision: CommitDecision()) { _ in Issue.record("remembered") }
      }
      #expect(refused?.reason == reason)
      #expect(try files(folder) == [])
      #expect(
        await refusal { try await runner.make(at: moment, commitDecision: CommitDecision()) { _ in } }?.reason
          == reason, "not busy")
    }
  }

  @Test func `a backup that cannot be recorded is removed`() async throws {
    try await withFolder { folder in
      let runner = try runner(CopiedStore(), folder)
      let refused = await refusal {
        try await runner.make(at: moment, commitDecision: CommitDecision()) { _ in throw Failure(.storeUnavailable) }
      }
      #expect(refused?.reason == .storeUnavailable)
      #expect(try files(folder) == [])
    }
  }

  @Test func `a call that was cancelled or takes too long leaves no backup`() async throws {
    try await withFolder { folder in
      let commitDecision = CommitDecision()
      #expect(commitDecision.cancel())
      let given = try runner(CopiedStore(), folder)
      #expect(
        await refusal { try await given.make(at: moment, commitDecision: commitDecision) { _ in } }?.reason
          == .cancelled)
      #expect(try files(folder) == [])
    }
    try await withFolder { folder in
      let slow = try runner(CopiedStore(), folder, limitMillis: 0)
      let refused = await refusal { try await slow.make(at: moment, commitDecision: CommitDecision()) { _ in } }
      #expect(refused?.reason == .backupFailed && refused?.hint.contains("store.backup_seconds") == true)
      #expect(try files(folder) == [])
    }
  }

  @Test(arguments: [(0, 5), (1, 1), (3, 3), (5, 5), (6, 5)])
  func `only the oldest backups past the limit are removed`(keptMax: Int, left: Int) async throws {
    try await withFolder { folder in
      let others = [
        "latchkey-00000000T000000.000Z-0000000g.db", "latchkey-00000000T000000.000Z-00000000.db.copy",
        "latchkey-8443.db", "latchkey-8443.db.draft", "latchkey-notes", "notes.txt", "other.db",
      ]
      for name in others { try write("mine", to: "\(folder)/\(name)") }
      let runner = try runner(CopiedStore(), folder, keptMax: keptMax)
      var made: [String] = []
      for day in 0..<5 {
        let at = moment.adding(millis: Int64(day) * 86_400_000)
        made.append(try await runner.make(at: at, commitDecision: CommitDecision()) { _ in }.fileName)
      }
      #expect(try files(folder) == (made.suffix(left) + others).sorted())
    }
  }

  @Test func `the newest backup stays, whatever the times of the others`() async throws {
    try await withFolder { folder in
      let runner = try runner(CopiedStore(), folder, keptMax: 1)
      _ = try await runner.make(at: moment, commitDecision: CommitDecision()) { _ in }
      let earlier = try await runner.make(at: moment.adding(millis: -1_000), commitDecision: CommitDecision()) { _ in }
      #expect(try files(folder) == [earlier.fileName])
    }
  }

  @Test func `a start removes unfinished files of an earlier process, and holds the folder`() async throws {
    try await withFolder { folder in
      let name = BackupFolder.name(at: moment)
      for suffix in ["", ".draft", ".draft-wal", ".draft-journal", ".draft.sha256"] {
        try write("x", to: "\(folder)/\(name)\(suffix)")
      }
      try write("x", to: "\(folder)/\(BackupFolder.name(at: moment)).sha256")
      let held = try BackupFolder(folder, keptMax: 0)
      #expect(try files(folder) == [name])
      #expect(throws: PrivateFolder.Held.self) { try BackupFolder(folder, keptMax: 0) }
      _ = try held.begin(name)
    }
  }

  @Test func `a backup requires a folder`() async throws {
    let usual = try settings()
    #expect(usual.backupFolder == "" && usual.backupsKeptMax == 0 && usual.backupMillis == 600_000)
    #expect(try usual.backupRunner(of: CopiedStore(), log: Log(JSONLines(level: .critical, descriptor: 2))) == nil)
    let refused = await refusal { try await NoBackups().make(at: moment, commitDecision: CommitDecision()) { _ in } }
    #expect(refused?.reason == .backupNotConfigured)
    let postgres = try settings("store: { postgres: { conninfo: 'host=/run' } }").postgres
    let unsupported = await refusal {
      try await postgres.noBackups.make(at: moment, commitDecision: CommitDecision()) { _ in }
    }
    #expect(unsupported?.reason == .backupNotSupported)
    #expect(try settings("store: { backup_folder: \"copies\" }").backupFolder == "/etc/latchkey/copies")
  }
}
