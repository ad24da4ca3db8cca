import Store
import Synchronization
import TestSupport
import Testing

@testable import StorePostgres

private final class Troubles: PartialObserver {
  private let met = Mutex<[StoreTrouble]>([])
  var all: [StoreTrouble] { met.withLock { $0 } }

  func met(_ trouble: StoreTrouble, _ why: String) { met.withLock { $0.append(trouble) } }
}

@Test(arguments: [
  ("XX001", StoreTrouble.corrupt), ("XX002", .corrupt), ("53100", .full), ("58030", .unreadable),
  ("58P01", .unreadable), ("XX000", nil), ("53200", nil), ("53300", nil), ("23505", nil), ("57014", nil),
] as [(String, StoreTrouble?)])
func `errors about the disk and damaged relations are conditions of the database`(
  state: String, trouble: StoreTrouble?
) {
  #expect(ServerError(step: 0, state: state, constraint: "", message: "").trouble == trouble)
}

@Suite(.enabled(if: Place.isThere)) struct TroubleTests {
  /// Makes each insert into a table fail with this error.
  private static func failing(_ table: String, _ state: String) -> String {
    """
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION USING ERRCODE = '\(state)', MESSAGE = 'as a test'; END $$;
    CREATE TRIGGER fails BEFORE INSERT ON \(table) FOR EACH ROW EXECUTE FUNCTION fail()
    """
  }

  @Test(arguments: [("53100", StoreTrouble.full), ("XX001", .corrupt)])
  func `a failed change reports the condition, and a probe fails until it is over`(
    state: String, trouble: StoreTrouble
  ) async throws {
    let (place, troubles) = (try Place(), Troubles())
    let store = try place.open(observer: troubles)
    try await store.probe()
    #expect(troubles.all.isEmpty)
    try place.run(Self.failing("changes", state))
    let change = Change([.account(.insert(AccountRecord("a")))])
    await #expect(throws: StoreError.self) { try await store.commit(change, commitDecision: CommitDecision()) }
    await #expect(throws: StoreError.self) { try await store.probe() }
    #expect(!troubles.all.isEmpty && Set(troubles.all) == [trouble])
    try place.run("DROP TRIGGER fails ON changes")
    try await store.probe()
    await store.close()
  }
}
