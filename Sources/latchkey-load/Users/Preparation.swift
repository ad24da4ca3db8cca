internal import API

/// The preparation of a scenario: creates its users and assigns them to workloads.
final class Preparation {
  let target: Target
  let options: UserOptions
  let load: LoadOptions
  /// Accounts with passwords from earlier runs.
  var known: [LoadUser] = []
  var tokens = TokensFile()
  /// Email addresses for FetchProviders, instead of those of created users.
  let addresses: Addresses?
  /// Every account with a password that was used or created, for the next run.
  private(set) var accounts: [LoadUser] = []

  private let scenario: Scenario
  /// The number of users for each workload, at least the number of calls in flight.
  private let userCount: Int
  private var withPasswords: [LoadUser] = []
  private var newCount: UInt64 = 0
  /// A random name that distinguishes the email addresses of this run from those of other runs.
  private let runName = randomText(8)

  init(_ scenario: Scenario, _ target: Target, _ options: UserOptions, _ load: LoadOptions) {
    self.scenario = scenario
    self.target = target
    self.options = options
    self.load = load
    addresses = options.addresses.flatMap(Addresses.init)
    userCount = max(options.prepare, target.placeCount)
  }

  /// Creates the users and returns the parts of the mix, in the order of the scenario.
  func parts() throws -> [Mix.Part] {
    try scenario.parts.map { part in
      Mix.Part(workload: part.workload.name, weight: part.weight, iterations: try part.workload.prepare(self))
    }
  }

  // MARK: Users

  /// Returns users with passwords. All workloads that do not change their users share them.
  func usersWithPasswords(inSession: Bool = false) throws -> [LoadUser] {
    if withPasswords.isEmpty {
      let emails = Set(tokens.tokens.map(\.email))
      withPasswords = Array(known.filter { !emails.contains($0.login.email) }.prefix(userCount))
      while withPasswords.count < userCount { withPasswords.append(LoadUser(login: newLogin())) }
      try makeUnknown(withPasswords)
    }
    if inSession { try run("sessions", withPasswords.filter { !$0.isSignedIn }) { .makeAccount($0) } }
    return withPasswords
  }

  /// Creates anonymous users.
  func usersInSession() throws -> [LoadUser] {
    let users = (0..<userCount).map { _ in LoadUser() }
    try run("sessions", users) { .openSession($0) }
    return users
  }

  /// Creates separate users with verified email addresses, for iterations that change them.
  func verifiedUsers() throws -> [LoadUser] {
    let users = newUsers()
    for user in users {
      user.accountID = "load-" + randomText(20)
      user.login.password = ""
    }
    try run("verified accounts", users) { .makeVerified($0) }
    return users
  }

  /// Returns users with the provider tokens for `use`.
  func usersWithTokens(_ use: TokensFile.Token.Use, atLeast: Int) throws -> [LoadUser] {
    try having(tokens.of(use), atLeast: atLeast, use).map { LoadUser(token: $0.token) }
  }

  /// Returns users with a password whose email addresses are those of tokens.
  func usersInConflict(_ workload: String, atLeast: Int) throws -> [LoadUser] {
    // If the mix has both workloads, each gets half of the tokens, so that they do not disturb each other.
    let all = tokens.of(.conflict)
    let names = scenario.parts.map(\.workload.name).filter(["conflict", "fetch-pending"].contains).sorted()
    let share = all.count / names.count
    let own = workload == names[0] ? all.prefix(share) : all.dropFirst(share)
    let known = Dictionary(known.map { ($0.login.email, $0) }) { first, _ in first }
    let users = try having(Array(own), atLeast: atLeast, .conflict).map { token in
      let user = known[token.email] ?? LoadUser(login: newLogin())
      user.login.email = token.email
      user.token = token.token
      return user
    }
    try makeUnknown(users)
    return users
  }

  private func having(
    _ tokens: [TokensFile.Token], atLeast: Int, _ use: TokensFile.Token.Use
  ) throws -> [TokensFile.Token] {
    guard tokens.count >= atLeast else {
      throw FileError(
        description: "--tokens has \(tokens.count) tokens for \(use.rawValue), but \(atLeast) are needed: make them "
          + "with deploy/load/tokens.py")
    }
    return tokens
  }

  func newUsers() -> [LoadUser] { (0..<userCount).map { _ in LoadUser(login: newLogin()) } }

  /// Creates accounts for the users that have none from an earlier run.
  private func makeUnknown(_ users: [LoadUser]) throws {
    accounts += users.filter { $0.accountID != nil }
    try makeAccounts(users.filter { $0.accountID == nil })
  }

  func makeAccounts(_ users: [LoadUser]) throws {
    try run("accounts", users) { .makeAccount($0) }
    accounts += users
  }

  // MARK: Names

  func email(_ number: UInt64) -> String { "load-\(runName)-\(number)@example.com" }

  func newLogin() -> PasswordCredential {
    newCount += 1
    return login(newCount)
  }

  func login(_ number: UInt64) -> PasswordCredential {
    PasswordCredential(email: email(number), password: randomText(24))
  }

  func importedAccount(_ number: UInt64) -> ImportedAccount {
    ImportedAccount(accountID: "load-\(runName)-\(number)", email: email(number), emailVerified: true)
  }

  // MARK: Calls

  /// A target with fewer calls in flight than the server's queue for password hashing admits.
  private var gentle: Target {
    var gentle = target
    gentle.connections = min(target.connections, 2)
    gentle.streams = min(target.streams, 16)
    return gentle
  }

  /// Runs one iteration for each user. Throws if one fails.
  func run(_ what: String, _ users: [LoadUser], _ first: @escaping (LoadUser) -> Step) throws {
    guard !users.isEmpty else { return }
    let all = users.count
    let runner = try Runner(to: gentle, .lasting, Once(users, first)) { startNanos in
      let period = Period(startNanos: startNanos, warmUpNanos: 0, measuredNanos: .max - startNanos)
      return (.closed(period), Recorder(iterations: [what], period: period))
    }
    runner.onProgress = { recorder, _, _ in
      say("preparing \(what): \(grouped(recorder.iterations[0].ok)) of \(grouped(all))")
    }
    let recorder = try runner.run().recorder
    say("prepared \(what): \(grouped(recorder.iterations[0].ok)) of \(grouped(all))")
    if let flaw = recorder.iterations[0].flaws.keys.first {
      throw RunError(description: "preparing \(what) failed: \(flaw.kind): \(flaw.why)")
    }
  }
}

private func randomText(_ count: Int) -> String {
  let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789")
  return String((0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] })
}
