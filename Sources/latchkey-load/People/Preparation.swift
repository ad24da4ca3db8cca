/// Makes the people that a scenario needs, before it begins, and says who does what.
struct Preparation {
  let target: Target
  let scenario: Scenario
  /// How many people each workload has; never fewer than there are calls in flight.
  let peopleCount: Int
  /// Accounts with passwords of an earlier run.
  var known: [Person] = []
  var tokens = TokensFile()
  /// Addresses that FetchProviders asks for instead of those of our own people.
  var addresses: Addresses?
  var flow = FlowWish()
  /// Says how far it is.
  var onProgress: (_ line: String) -> Void = { _ in }

  /// Every account with a password that was used or made, for the next run.
  private(set) var accounts: [Person] = []
  private var people: [Person] = []
  private var freshCount = 0
  /// Told apart from the addresses of every other run.
  let runName = randomText(8)

  init(target: Target, scenario: Scenario, peopleCount: Int) {
    self.target = target
    self.scenario = scenario
    self.peopleCount = max(peopleCount, target.placeCount)
  }

  /// The parts of the mix, in the order of the scenario.
  mutating func prepare() throws -> [Mix.Part] {
    var parts: [Mix.Part] = []
    for part in scenario.parts {
      let (pool, make) = try cast(part.workload)
      parts.append(Mix.Part(workload: part.workload, weight: part.weight, pool: pool, make: make))
    }
    return parts
  }

  // MARK: With passwords and sessions

  /// The same people for every workload that changes nothing of theirs.
  mutating func withPasswords(inSession: Bool = false) throws -> [Person] {
    if people.isEmpty {
      let emails = Set(tokens.tokens.map(\.email))
      people = Array(known.filter { !emails.contains($0.login.email) }.prefix(peopleCount))
      people += fresh(peopleCount - people.count)
      try makeUnknown(people)
    }
    if inSession { try run("sessions", people.filter { $0.session == nil }.map { MakeAccount(person: $0) }) }
    return people
  }

  func inSession() throws -> [Person] {
    let people = (0..<peopleCount).map { _ in Person() }
    try run("sessions", people.map { OpenSession(person: $0) })
    return people
  }

  /// Accounts of their own whose address is proved: what is done to them is seen by nobody else.
  mutating func proved() throws -> [Person] {
    let people = fresh(peopleCount)
    for person in people {
      person.accountID = "load-" + randomText(20)
      person.login.password = ""
    }
    try run("proved accounts", people.map { MakeProved(person: $0) })
    return people
  }

  mutating func make(_ people: [Person]) throws {
    try run("accounts", people.map { MakeAccount(person: $0) })
    accounts += people
  }

  /// Only those who have no account from an earlier run.
  mutating func makeUnknown(_ people: [Person]) throws {
    accounts += people.filter { $0.accountID != nil }
    try make(people.filter { $0.accountID == nil })
  }

  mutating func fresh(_ count: Int) -> [Person] {
    defer { freshCount += count }
    return (freshCount..<freshCount + count).map { Person(login: .fresh("\(runName)-\($0)")) }
  }

  /// Fewer calls in flight than the server lets wait for a password to be hashed.
  private var gentle: Target {
    var gentle = target
    gentle.connections = min(target.connections, 2)
    gentle.streams = min(target.streams, 16)
    return gentle
  }

  /// Does each of these once; all must succeed.
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
  /// An address and a password that nobody else has.
  static func fresh(_ name: String) -> Login { Login(email: .freshEmail(name), password: randomText(24)) }
}

extension String {
  static func freshEmail(_ name: String) -> String { "load-\(name)@example.com" }
}

func randomText(_ count: Int) -> String {
  let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789")
  return String((0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] })
}
