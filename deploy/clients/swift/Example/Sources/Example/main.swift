// Walks through an account-exists conflict, an error, a refresh and the events, next to deploy/run.
import Foundation
import LatchkeyClient

let environment = ProcessInfo.processInfo.environment
let server = (environment["LATCHKEY_SERVER"] ?? "localhost:8443").split(separator: ":")

func path(_ name: String) -> String { "\(environment["LATCHKEY_HOME"] ?? ".latchkey")/\(name)" }

func configuration(_ credential: LatchkeyClient.CallerCredential) -> LatchkeyClient.Configuration {
  .init(
    host: String(server[0]), port: Int(server[1]) ?? 8443, trustRoots: .file(path("authority.pem")),
    credential: credential)
}

func signIn(_ client: LatchkeyClient, _ credential: Latchkey_V1_Credential) async throws -> Latchkey_V1_SignInResponse {
  try await client.auth.signIn(
    .with {
      $0.credential = credential
      $0.idempotencyKey = makeIdempotencyKey()
    })
}

func password(_ email: String, _ password: String) -> Latchkey_V1_Credential {
  .with { $0.password = .with { ($0.email, $0.password) = (email, password) } }
}

func mint(_ person: String, email: String) throws -> String {
  let process = Process(), output = Pipe()
  process.executableURL = URL(filePath: "deploy/mint")
  process.arguments = ["--issuer", "corp", "--subject", person, "--email", email]
  process.standardOutput = output
  try process.run()
  process.waitUntilExit()
  return String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    .trimmingCharacters(in: .whitespacesAndNewlines)
}

func resolveConflict(_ client: LatchkeyClient) async throws -> Latchkey_V1_Session {
  let person = String(makeIdempotencyKey().prefix(8)), email = "\(person)@example.com", secret = makeIdempotencyKey()
  let created = try await client.accounts.create(
    .with { ($0.email, $0.password, $0.idempotencyKey) = (email, secret, makeIdempotencyKey()) }).session.account
  let idToken = try mint(person, email: email)
  let company = Latchkey_V1_Credential.with {
    $0.providerToken = .with { ($0.providerID, $0.idToken) = ("oidc.corp", idToken) }
  }
  let pending = try await signIn(client, company).accountExists.pendingToken
  let providers = try await client.auth.fetchProviders(.with { $0.pendingToken = pending })
  print("conflict: the account has", providers.signInMethods.joined(separator: " "))
  let session = try await signIn(client, password(email, secret)).session
  let linked = try await client.auth.link(
    .with {
      $0.idToken = session.idToken
      $0.credential = .with { $0.pendingToken = pending }
      $0.idempotencyKey = makeIdempotencyKey()
    }).session
  let again = try await signIn(client, company).session.account
  precondition(again.accountID == created.accountID)
  print("linked:", again.providers.map(\.providerID).joined(separator: " "))
  return linked
}

func refresh(_ client: LatchkeyClient, _ session: Latchkey_V1_Session) async throws {
  var session = session
  session.idTokenExpiresAt = .init(date: .now)  // As if it were about to expire.
  let keeper = try await SessionKeeper(starting: session, with: client.sessions)
  let tokens = try await withThrowingTaskGroup { group in
    for _ in 0..<8 { group.addTask { try await keeper.idToken() } }
    return try await group.reduce(into: Set()) { $0.insert($1) }
  }
  precondition(tokens.count == 1 && !tokens.contains(session.idToken))
  print("refreshed: once for 8 tasks")
}

/// Returns the cursor after the first update that is wanted.
func watch(_ cursor: String, _ wanted: @Sendable (Latchkey_V1_Event) -> Bool) async throws -> String {
  let admin = configuration(.certificate(chainFile: path("admin.pem"), keyFile: path("admin.key")))
  return try await withLatchkeyClient(admin) { client in
    for try await update in client.updates(after: cursor) where wanted(update.event) { return update.cursor }
    return cursor
  }
}

let key = try String(contentsOfFile: path("web.apikey"), encoding: .utf8)
try await withLatchkeyClient(configuration(.apiKey(key))) { client in
  let cursor = try await watch("now") { _ in true }
  let session = try await resolveConflict(client)
  do {
    _ = try await signIn(client, password("not an address", "secret"))
  } catch let error as LatchkeyError where error.reason == .invalidEmail {
    print("error:", error.reasonName, error.field)
  }
  try await refresh(client, session)
  _ = try await watch(cursor) { $0.type == .linked && $0.accountID == session.account.accountID }
  print("events: LINKED after a new connection")
}
