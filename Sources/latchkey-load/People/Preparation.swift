/// The preparation of a scenario: creates its users and assigns them to workloads.
struct Preparation {
  let target: Target
  let scenario: Scenario
  /// The number of users for each workload, at least the number of calls in flight.
  let peopleCount: Int
  /// Accounts with passwords from earlier runs.
  var known: [LoadUser] = []
  var tokens = TokensFile()
  /// Email addresses for FetchProviders, instead of those of created users.
  var addresses: Addresses?
  var flow = FlowWish()
  /// Called with each line of progress.
  var onProgress: (_ line: String) -> Void = { _ in }

  /// Every account with a password that was used or created, for the next run.
  private(set) var accounts: [LoadUser] = []
  private var people: [LoadUser] = []
  private var freshCount = 0
  /// A random name that distinguishes the email addresses of this run from those of other runs.
  let runName = randomText(8)

  init(target: Target, scenario: Scenario, peopleCount: Int) {
    self.target = target
    self.scenario = scenario
    self.peopleCount = max(peopleCount, target.placeCount)
  }

  /// Creates the users and returns the parts of the mix, in the order of the scenario.
  mutating func prepare() throws -> [Mix.Part] {
    var parts: [Mix.Part] = []
    for part in scenario.parts {
      let (pool, make) = try cast(part.workload)
      parts.append(Mix.Part(workload: part.workload, weight: part.weight, pool: pool, make: make))
    }
    return parts
  }

  // MARK: With passwords and sessions

  /// Returns users with passwords. All workloads that do not change their users share them.
  mutating func withPasswords(inSession: Bool = false) throws -> [LoadUser] {
    if people.isEmpty {
      let emails = Set(tokens.tokens.map(\.email))
      people = Array(known.filter { !emails.contains($0.login.email) }.prefix(peopleCount))
      people += fresh(peopleCount - people.count)
      try makeUnknown(people)
    }
    if inSession { try run("sessions", people.filter { $0.session == nil }.map { MakeAccount(user: $0) }) }
    return people
  }

  func inSession() throws -> [LoadUser] {
    let people = (0..<peopleCount).map { _ in LoadUser() }
    try run("sessions", people.map { OpenSession(user: $0) })
    return people
  }

  /// Creates separate users with verified email addresses, for work that changes them.
  mutating func proved() throws -> [LoadUser] {
    let people = fresh(peopleCount)
    for user in people {
      user.accountID = "load-" + randomText(20)
      user.login.password = ""
    }
    try run("verified accounts", people.map { MakeVerified(user: $0) })
    return people
  }

  mutating func make(_ people: [LoadUser]) throws {
    try run("accounts", people.map { MakeAccount(user: $0) })
    accounts += people
  }

  /// Creates accounts for the users that have none from an earlier run.
  mutating func makeUnknown(_ people: [LoadUser]) throws {
    accounts += people.filter { $0.accountID != nil }
    try make(people.filter { $0.accountID == nil })
  }

  mutating func fresh(_ count: Int) -> [LoadUser] {
    defer { freshCount += count }
    return (freshCount..<freshCount + count).map { LoadUser(login: .fresh("\(runName)-\($0)")) }
  }

  /// A target with fewer calls in flight than the server's queue for password hashing admits.
  private var gentle: Target {
    var gentle = target
    gentle.connections = min(target.connections, 2)
    gentle.streams = min(target.streams, 16)
    return gentle
  }

  /// Runs each work once. Throws if one fails.
  func run(_ what: String, _ works: [any Work]) throws {
    guard !works.isEmpty else { return }
    let all = works.count
    let runner = try Runner(to: gentle, .lasting, Once(works)) { startNanos in
      let period = Period(startNanos: startNanos, warmUpNanos: 0, measuredNanos: .max - startNanos)
      return (.closed(period), Recorder(calls: Method.allCases.map(\.name), iterations: [what], period: period))
    }
    runner.onProgress = { recorder, _, _ in
      onProgress("preparing \(what): \(grouped(recorder.iterations[0].ok)) of \(grouped(all))")
    }
    let recorder = try runner.run().recorder
    onProgress("prepared \(what): \(grouped(recorder.iterations[0].ok)) of \(grouped(all))")
    if let flaw = recorder.iterations[0].flaws.keys.first {
      throw RunError(description: "preparing \(what) failed: \(flaw.kind): \(flaw.why)")
    }
  }
}

extension Login {
  /// Returns a unique email address and password.
  static func fresh(_ name: String) -> Login { Login(email: .freshEmail(name), password: randomText(24)) }
}

extension String {
  static func freshEmail(_ name: String) -> String { "load-\(name)@example.com" }
}

func randomText(_ count: Int) -> String {
  let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789")
  return String((0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] })
}
