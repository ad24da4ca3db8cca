import Identity
import Store
import TestSupport
import Testing
import API

@testable import Services

private func opened(_ name: String, _ facts: Facts = Facts()) throws -> any StreamHandler {
  try stream(try method("/latchkey.v1.AdminService/\(name)", of: methods(World(facts: facts))))
}

private func refusal(_ body: () throws -> StreamStep) -> Failure? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? Failure
  }
}

private func answer(_ handler: any StreamHandler, _ rows: [ImportedAccount], _ options: ImportOptions? = nil)
  async throws -> ImportAccountsResponse
{
  let step = try handler.received(
    message(ImportAccountsRequest(options: options, accounts: rows)), arena: roomyArena())
  #expect(step.messages.isEmpty && !step.isLast)
  let told = try #require(try await outcome(handler))
  #expect(told.messages.count == 1 && !told.isLast)
  return try decoded(told.messages[0], as: ImportAccountsResponse.self)
}

/// The result of the work that the stream requests, or nil if it requests none.
private func outcome(_ handler: any StreamHandler) async throws -> StreamStep? {
  guard let work = handler.nextWork(nowMillis: 0) else { return nil }
  return try handler.worked(try await work(), nowMillis: 0, arena: roomyArena())
}

private func row(_ number: Int) -> ImportedAccount {
  ImportedAccount(accountID: "id-\(number)", email: "person\(number)@example.com")
}

@Test func `each batch of an import has its answer, and the call ends with the last one`() async throws {
  let handler = try opened("ImportAccounts")
  let first = try await answer(handler, [row(0), row(1), row(1)], ImportOptions())
  #expect(first.imported == 2 && first.errors.map(\.row) == [2] && first.errors.first?.accountID == "id-1")
  #expect(try await answer(handler, [row(2)]).imported == 1)
  #expect(handler.nextWork(nowMillis: 0) == nil, "finished work is not repeated")
  #expect(handler.ended(arena: roomyArena()).isLast)
}

@Test func `a message without rows gets no answer`() throws {
  let handler = try opened("ImportAccounts")
  let step = try handler.received(message(ImportAccountsRequest(options: ImportOptions())), arena: roomyArena())
  #expect(handler.nextWork(nowMillis: 0) == nil && step.messages.isEmpty && !step.isLast)
}

@Test func `only the first message has options, and each has its limit of rows`() async throws {
  let handler = try opened("ImportAccounts")
  let most = ImportAccountsRequest(accounts: (0..<1_000).map(row))
  _ = try handler.received(message(most), arena: roomyArena())
  #expect(handler.nextWork(nowMillis: 0) != nil)
  let more = ImportAccountsRequest(accounts: (0...1_000).map(row))
  #expect(refusal { try handler.received(message(more), arena: roomyArena()) }?.field == "accounts")
  let second = ImportAccountsRequest(options: ImportOptions(dryRun: true), accounts: [row(0)])
  #expect(refusal { try handler.received(message(second), arena: roomyArena()) }?.field == "options")
}

@Test func `hash options are checked before any row`() throws {
  let hash = ImportHash(algorithm: .scrypt, key: [1], rounds: 9, memoryCost: 14)
  let request = ImportAccountsRequest(options: ImportOptions(hash: hash), accounts: [row(0)])
  let handler = try opened("ImportAccounts")
  #expect(refusal { try handler.received(message(request), arena: roomyArena()) }?.field == "options.hash.rounds")
}

@Test func `a name or a photo that no client could show is left out, and the user is imported`() async throws {
  let accounts = [
    ImportedAccount(email: "a@example.com", displayName: String(repeating: "x", count: 1_025)),
    ImportedAccount(email: "b@example.com", photoURL: "gs://bucket/b.png"),
  ]
  let response = try await answer(try opened("ImportAccounts"), accounts)
  #expect(response.imported == 2 && response.errors.isEmpty)
  #expect(response.leftOut.map(\.field) == ["display_name", "photo_url"])
}

@Test func `the error for a row with a wrong shape names its field as in a request`() async throws {
  let google = LinkedProvider(providerID: "google.com", subject: "g")
  let factor = ImportedPhoneFactor(factorID: "f", phoneNumber: "+441632960961")
  let fields: [(String, ImportedAccount)] = [
    ("account_id", ImportedAccount(accountID: String(repeating: "x", count: 129))),
    ("email", ImportedAccount(email: "none")), ("phone_number", ImportedAccount(phoneNumber: "none")),
    ("password_hash", ImportedAccount(email: "a@example.com", passwordHash: [1])),
    ("providers.provider_id", ImportedAccount(providers: [LinkedProvider(subject: "g")])),
    ("providers.subject", ImportedAccount(providers: [LinkedProvider(providerID: "google.com")])),
    ("phone_factors.phone_number", ImportedAccount(phoneFactors: [ImportedPhoneFactor(factorID: "f")])),
    ("passkey_factors.passkey_record", ImportedAccount(passkeyFactors: [ImportedPasskeyFactor(factorID: "f")])),
    ("passkey_factors.passkey_record", ImportedAccount(passkeyFactors: [ImportedPasskeyFactor(passkeyRecord: "AAAA")])),
  ]
  let response = try await answer(try opened("ImportAccounts"), fields.map(\.1))
  #expect(response.imported == 0 && response.errors.map(\.field) == fields.map(\.0))
  let whole = ImportedAccount(
    providers: [google, LinkedProvider(providerID: "password", subject: ""), LinkedProvider(providerID: "phone")],
    phoneFactors: [factor])
  // The row's own password and phone are not identities.
  #expect(try await answer(try opened("ImportAccounts"), [whole]).imported == 1)
}

@Test func `an invalid description of an identity is left out and named, and the account is imported`() async throws {
  var google = LinkedProvider(providerID: "google.com", subject: "g")
  google.photoURL = "javascript:x"
  google.email = "none"
  google.displayName = "A\tB" + String(repeating: "x", count: 2_000)
  let longest = String(repeating: "é", count: 512)
  let response = try await answer(
    try opened("ImportAccounts"),
    [
      ImportedAccount(accountID: "a", displayName: longest, providers: [google]),
      ImportedAccount(email: "none", providers: [google]),
    ])
  #expect(response.imported == 1 && response.errors.map(\.field) == ["email"])
  #expect(response.leftOut.map(\.field) == ["providers.email", "providers.photo_url"])
  #expect(response.leftOut.map(\.accountID) == ["a", "a"] && response.leftOut.map(\.row) == [0, 0])
}

@Test func `an export sends pages, and the call ends with the last one`() async throws {
  for (includesSecrets, hash, number) in [(false, "", "+********0962"), (true, "hash", "+441632960962")] {
    var facts = Facts()
    facts.page = [ada()]
    let handler = try opened("ExportAccounts", facts)
    let request = ExportAccountsRequest(includeSecrets: includesSecrets)
    #expect(try handler.received(message(request), arena: roomyArena()).messages.isEmpty)
    let step = try #require(try await outcome(handler))
    let page = try decoded(step.messages[0], as: ExportAccountsResponse.self)
    #expect(page.accounts.map(\.account?.accountID) == ["account-ada"] && page.accounts.map(\.passwordHash) == [hash])
    #expect(page.accounts.first?.account?.secondFactors.map(\.maskedPhoneNumber) == [number])
    #expect(step.isLast && step.messages.count == 1)
  }
}
