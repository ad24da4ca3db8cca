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
  private let runName = randomText(8)

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

  private typealias Cast = (Pool?, (Person?, inout SeededGenerator) -> any Work)

  private mutating func cast(_ workload: WorkloadName) throws -> Cast {
    switch workload {
    case .health: return (nil, { _, _ in SingleCall.health })
    case .signingKeys: return (nil, { _, _ in SingleCall.signingKeys })
    case .listProviders: return (nil, { [flow] _, _ in SingleCall.listProviders(flow) })
    case .startFlow: return (nil, { [flow] _, _ in SingleCall.startFlow(flow) })
    case .signInAnonymous: return (nil, { _, _ in SingleCall.signInAnonymous })
    case .signOut: return (nil, { _, _ in SignOut() })
    case .handshake: return (nil, { _, _ in Handshake(calls: true, resumes: false) })
    case .createDelete:
      let runName = runName
      return (nil, { _, generator in CreateDelete(.fresh("\(runName)-\(generator.next())")) })
    case .fetch:
      if let addresses { return (nil, { SingleCall.fetch(email: addresses.draw(&$1), method: nil) }) }
      return shared(try withPasswords()) { SingleCall.fetch(email: $0.login.email, method: "password") }
    case .signInPassword: return shared(try withPasswords()) { SingleCall.signIn(.password($0.login), as: $0) }
    case .lookup: return shared(try withPasswords()) { SingleCall.lookup($0) }
    case .customToken: return shared(try withPasswords()) { SingleCall.customToken($0) }
    case .reauthenticate: return shared(try withPasswords(inSession: true)) { SingleCall.reauthenticate($0) }
    case .signInCustomToken:
      let people = try withPasswords()
      try run("custom tokens", people.filter(\.customToken.isEmpty).map { MakeCustomToken($0) })
      return shared(people) { SingleCall.signIn(.customToken($0.customToken), as: $0) }
    case .get: return shared(try inSession()) { SingleCall.get($0) }
    case .verify: return shared(try inSession()) { SingleCall.verify($0) }
    case .refresh: return (Pool(try inSession(), isExclusive: true), { person, _ in SingleCall.refresh(some(person)) })
    case .signInIDToken: return try castSignIn()
    case .linkUnlink: return try castLink()
    case .conflict, .fetchPending: return try castConflict(workload)
    }
  }

  private func shared(_ people: [Person], _ make: @escaping (Person) -> any Work) -> Cast {
    (Pool(people, isExclusive: false), { person, _ in make(some(person)) })
  }

  // MARK: With tokens of providers

  private func castSignIn() throws -> Cast {
    let people = try having(tokens.of(.signIn), "sign-in", atLeast: 1).map { Person(token: $0.token) }
    try run("identities", people.map { OpenSession(person: $0) })
    return shared(people) { SingleCall.signIn(.provider(some($0.token)), as: $0) }
  }

  private mutating func castLink() throws -> Cast {
    let tokens = try having(tokens.of(.link), "link", atLeast: target.placeCount)
    // Accounts of their own: what is done to them is seen by nobody else.
    let people = fresh(tokens.count)
    for (person, token) in zip(people, tokens) { person.token = token.token }
    try make(people)
    let make = { (person: Person?, _: inout SeededGenerator) -> any Work in
      LinkUnlink(some(person), some(some(person).token))
    }
    return (Pool(people, isExclusive: true), make)
  }

  private mutating func castConflict(_ workload: WorkloadName) throws -> Cast {
    // Who has a conflict under way is not asked for what is held: each gets a half where both are in the mix.
    let all = tokens.of(.conflict)
    let names = Set(scenario.parts.map(\.workload))
    let half = names.isSuperset(of: [.conflict, .fetchPending]) ? all.count / 2 : 0
    let isConflict = workload == .conflict
    let own = half == 0 ? all[...] : isConflict ? all[..<half] : all[half...]
    let tokens = try having(Array(own), "conflict", atLeast: isConflict ? target.placeCount : 1)
    let known = Dictionary(known.map { ($0.login.email, $0) }) { first, _ in first }
    let people = tokens.map { token in
      let person = known[token.email] ?? Person(login: .fresh(""))
      person.login.email = token.email
      person.token = token.token
      return person
    }
    try makeUnknown(people)
    if isConflict {
      return (Pool(people, isExclusive: true), { person, _ in Conflict(some(person), some(some(person).token)) })
    }
    try run("held credentials", people.map { FetchHeld($0, some($0.token)) })
    return shared(people) { FetchHeld($0, some($0.token)) }
  }

  private func having(_ tokens: [TokensFile.Token], _ use: String, atLeast: Int) throws -> [TokensFile.Token] {
    guard tokens.count >= atLeast else {
      throw FileError(
        description: "--tokens has \(tokens.count) tokens for \(use), and \(atLeast) are needed: deploy/load/tokens "
          + "makes them")
    }
    return tokens
  }

  // MARK: With passwords and sessions

  /// The same people for every workload that changes nothing of theirs.
  private mutating func withPasswords(inSession: Bool = false) throws -> [Person] {
    if people.isEmpty {
      let emails = Set(tokens.tokens.map(\.email))
      people = Array(known.filter { !emails.contains($0.login.email) }.prefix(peopleCount))
      people += fresh(peopleCount - people.count)
      try makeUnknown(people)
    }
    if inSession { try run("sessions", people.filter { $0.session == nil }.map { MakeAccount(person: $0) }) }
    return people
  }

  private func inSession() throws -> [Person] {
    let people = (0..<peopleCount).map { _ in Person() }
    try run("sessions", people.map { OpenSession(person: $0) })
    return people
  }

  private mutating func make(_ people: [Person]) throws {
    try run("accounts", people.map { MakeAccount(person: $0) })
    accounts += people
  }

  /// Only those who have no account from an earlier run.
  private mutating func makeUnknown(_ people: [Person]) throws {
    accounts += people.filter { $0.accountID != nil }
    try make(people.filter { $0.accountID == nil })
  }

  private mutating func fresh(_ count: Int) -> [Person] {
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
  private func run(_ what: String, _ works: [any Work]) throws {
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
  fileprivate static func fresh(_ name: String) -> Login {
    Login(email: "load-\(name)@example.com", password: randomText(24))
  }
}

private func randomText(_ count: Int) -> String {
  let alphabet = Array("abcdefghijklmnopqrstuvwxyz0123456789")
  return String((0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count)] })
}

/// What the pools of a workload always have: somebody, and for some workloads with a token.
private func some<Value>(_ value: Value?) -> Value {
  guard let value else { preconditionFailure("a workload without its people") }
  return value
}
