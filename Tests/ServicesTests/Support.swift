import Callers
import Crypto
import Identity
import Store
import TestSupport
import Testing
import Protobuf

@testable import GRPC
@testable import Services

typealias Message = GRPC.Message

/// A caller from the table of callers.
func caller(mayFetchByEmail: Bool = false) throws -> Caller {
  let settings = CallerSettings(
    name: "web", san: "web", methods: ["*"], mayFetchByEmail: mayFetchByEmail, audiences: ["app", "other"])
  return try CallerTable([settings], unidentified: nil, paths: []).identify(
    certificateName: "web", authorization: [], now: Timestamp(millis: 0))
}

func context(_ path: String = "/test/Call", mayFetchByEmail: Bool = false) throws -> CallContext {
  CallContext(
    caller: try caller(mayFetchByEmail: mayFetchByEmail), path: path, peerAddress: "127.0.0.1",
    commitDecision: CommitDecision())
}

/// A message between other bytes, as in a read buffer.
func message(_ request: some ProtobufEncodable) -> Message {
  let bytes = request.encodeBare(arena: roomyArena())
  return Message(bytes: [0xff, 0xff] + bytes + [0xff], start: 2, end: 2 + bytes.count)
}

/// The message in one frame.
func decoded<M: ProtobufDecodable>(_ frame: [UInt8], as type: M.Type) throws -> M {
  try #require(frame.count >= 5)
  return try M.decode(Array(frame[5...]).span, arena: roomyArena())
}

/// Runs a unary method to its end, including its task.
func answer<M: ProtobufDecodable>(
  _ method: Method, _ request: some ProtobufEncodable, as type: M.Type
) async throws -> M {
  switch try begin(method, request) {
  case .answer(let frame): return try decoded(frame, as: type)
  case .task(let work): return try decoded(try await work().encode(arena: roomyArena()), as: type)
  }
}

/// The part of a unary method that runs on the reactor.
func begin(_ method: Method, _ request: some ProtobufEncodable, mayFetchByEmail: Bool = false) throws -> Work {
  guard case .unary(let start) = method.handler else { throw NotUnary() }
  return try start(
    message(request), try context(method.path, mayFetchByEmail: mayFetchByEmail), roomyArena())
}

/// The stream that a method opens.
func stream(_ method: Method) throws -> any StreamHandler {
  guard case .stream(_, let make) = method.handler else { throw NotUnary() }
  return make(try context(method.path))
}

struct NotUnary: Error {}

func method(_ path: String, of methods: [Method]) throws -> Method {
  try #require(methods.first { $0.path == path }, "\(path) is not served")
}

/// Every method of the product over the same fakes.
func methods(_ world: World = World()) -> [Method] {
  let shared = world.shared
  return AuthService(shared).methods + AccountService(shared).methods
    + AdminService(shared, signingKeys: FixedSigningKeys()).methods
    + SessionService(shared, signingKeys: { "{\"keys\":[]}" }).methods + SecondFactorService(shared).methods
    + PasskeyService(shared).methods
    + VerificationService(shared).methods
}

/// A domain whose store returns a test's facts, and which accepts every token.
struct World: Sendable {
  var facts = Facts()
  var methods: SignInMethodsRecord?
  var answersNow = true

  var shared: HandlerContext {
    let environment = Environment(
      store: FixedStore(facts: facts, methods: methods, answersNow: answersNow), clock: FixedClock(),
      randomness: FixedRandomness(), cryptography: PlainCryptography(), passwords: PlainPasswords(),
      tokens: TrustingTokens(), providers: TrustingProviders(), policy: policy)
    return HandlerContext(environment, idempotencyKeys: IdempotencyKeys(secret: [1, 2, 3]))
  }

  private var policy: Policy {
    var policy = Policy()
    policy.enabledProviderIDs = ["google.com"]
    return policy
  }
}

let now = Timestamp(millis: 1_800_000_000_000)

/// An account with every kind of sign-in method.
func ada() -> AccountState {
  var account = AccountRecord(id: "account-ada", createdAt: Timestamp(millis: 1_000))
  account.emailAddress = EmailAddress("ada@example.com", verification: .confirmation)
  account.passwordHash = "hash"
  account.passwordSetAt = Timestamp(millis: 2_000)
  account.phoneNumber = "+441632960961"
  account.phoneNumberSetAt = Timestamp(millis: 2_500)
  account.displayName = "Ada"
  account.photoURL = "https://example.com/ada.png"
  account.customClaimsJSON = "{\"a\":1}"
  account.lastSignInAt = Timestamp(millis: 3_000)
  let factor = FactorRecord(
    id: "factor-1", accountID: account.id, kind: .phone, displayName: "mine", phoneNumber: "+441632960962",
    enrolledAt: Timestamp(millis: 5_000))
  let google = IdentityRecord(assertion: assertion, accountID: account.id, linkedAt: Timestamp(millis: 4_000))
  return AccountState(account: account, identities: [google], factors: [factor])
}

let assertion = Assertion(
  identity: IdentityKey(providerID: "google.com", subject: "g-1"), email: "ada@gmail.com", tier: .authoritative,
  displayName: "Ada at Google", photoURL: "https://google.com/ada.png", username: "ada",
  profileJSON: "{\"sub\":\"g-1\"}")
