internal import Crypto
internal import Encodings

// Who does what: the people of each workload, and the work of each iteration.

extension Preparation {
  typealias Cast = (Pool?, (Person?, inout SeededGenerator) -> any Work)

  mutating func cast(_ workload: WorkloadName) throws -> Cast {
    if let make = workOfNobody(workload) ?? codeOfNobody(workload) { return (nil, { make(&$1) }) }
    if let cast = try castVerification(workload) ?? castAdmin(workload) { return cast }
    switch workload {
    case .fetch:
      if let addresses { return (nil, { SingleCall.fetch(email: addresses.draw(&$1), method: nil) }) }
      return shared(try withPasswords()) { SingleCall.fetch(email: $0.login.email, method: "password") }
    case .signInPassword: return shared(try withPasswords()) { SingleCall.signIn(.password($0.login), as: $0) }
    case .reauthenticate: return shared(try withPasswords(inSession: true)) { SingleCall.reauthenticate($0) }
    case .signInCustomToken:
      let people = try withPasswords()
      try run("custom tokens", people.filter(\.customToken.isEmpty).map { MakeCustomToken($0) })
      return shared(people) { SingleCall.signIn(.customToken($0.customToken), as: $0) }
    case .get: return shared(try inSession()) { SingleCall.get($0) }
    case .verify: return shared(try inSession()) { SingleCall.verify($0) }
    case .listSessions: return shared(try inSession()) { SingleCall.listSessions($0) }
    case .refresh: return inTurn(try inSession()) { person, _ in SingleCall.refresh(person) }
    case .update: return inTurn(try inSession()) { SingleCall.update($0, displayName: "Load \($1.next())") }
    case .merge: return inTurn(try proved()) { person, _ in Merge(person) }
    case .secondFactor: return inTurn(try proved()) { person, _ in SecondFactor(person) }
    case .signInIDToken: return try castSignIn()
    case .linkUnlink: return try castLink()
    case .conflict, .fetchPending: return try castConflict(workload)
    default: preconditionFailure("\(workload.rawValue) has no work")
    }
  }

  private typealias Make = (inout SeededGenerator) -> any Work

  /// What needs nobody, or brings its own people.
  private func workOfNobody(_ workload: WorkloadName) -> Make? {
    let (flow, runName) = (flow, runName)
    switch workload {
    case .health: return { _ in SingleCall.health }
    case .watchHealth: return { _ in SingleCall.watchHealth }
    case .signingKeys: return { _ in SingleCall.signingKeys }
    case .listProviders: return { _ in SingleCall.listProviders(flow) }
    case .startFlow: return { _ in SingleCall.startFlow(flow) }
    case .signInAnonymous: return { _ in SingleCall.signInAnonymous }
    case .signOut: return { _ in EndSession(by: .signOut) }
    case .revokeAll: return { _ in EndSession(by: .revokeAll) }
    case .revokeSessions: return { _ in EndSession(by: .revokeSessions) }
    case .setDisabled: return { _ in EndSession(by: .disable) }
    case .deleteAccount: return { _ in EndSession(by: .deleteAccount) }
    case .watchEvents: return { _ in WatchEvents() }
    case .handshake: return { _ in Handshake(calls: true, resumes: false) }
    case .createDelete: return { CreateDelete(.fresh("\(runName)-\($0.next())")) }
    case .removeFactors:
      return { generator in
        let name = "\(runName)-\(generator.next())"
        return TakeAway.factor(
          of: ImportRow(accountID: "load-\(name)", email: .freshEmail(name), factorNumber: Preparation.factorNumber))
      }
    case .unlinkProvider:
      return { generator in
        let name = "\(runName)-\(generator.next())"
        return TakeAway.identity(
          of: ImportRow(accountID: "load-\(name)", email: .freshEmail(name), subject: "subject-\(name)"))
      }
    case .importAccounts:
      return { generator in
        SingleCall.importAccounts(
          (0..<Preparation.batchRows).map { _ in
            let name = "\(runName)-\(generator.next())"
            return ImportRow(accountID: "load-\(name)", email: .freshEmail(name))
          })
      }
    default: return nil
    }
  }

  /// Of each message of an import.
  private static let batchRows = 20
  /// Nobody's: nothing is ever sent to it.
  private static let factorNumber = "+441632960961"

  /// Codes that are sent to nobody, and codes that nobody was sent.
  private func codeOfNobody(_ workload: WorkloadName) -> Make? {
    let (continueURI, runName) = (flow.redirectURI, runName)
    switch workload {
    // Not drawn: the server bounds what one number is sent, in another run too.
    case .sendPhoneCode:
      return { _ in SingleCall.sendPhoneCode("+4915\(Int.random(in: 100_000_000...999_999_999))") }
    case .sendEmailLink: return { SingleCall.sendEmailLink(.freshEmail("\(runName)-\($0.next())"), continueURI) }
    case .checkCode: return { _ in SingleCall.refused(.checkCode(madeUpCode())) }
    case .confirmEmail: return { _ in SingleCall.refused(.confirmEmail(code: madeUpCode())) }
    case .resetPassword:
      return { _ in SingleCall.refused(.resetPassword(code: madeUpCode(), newPassword: "a password of nobody")) }
    default: return nil
    }
  }

  private mutating func castVerification(_ workload: WorkloadName) throws -> Cast? {
    let (continueURI, runName) = (flow.redirectURI, runName)
    switch workload {
    case .sendPasswordReset: return shared(try withPasswords()) { SingleCall.sendPasswordReset($0, continueURI) }
    case .sendEmailVerification:
      return shared(try withPasswords(inSession: true)) { SingleCall.sendEmailVerification($0, continueURI) }
    case .sendEmailChange:
      let people = fresh(peopleCount)
      try make(people)
      return inTurn(people) {
        SendEmailChange(
          person: $0, newEmail: .freshEmail("\(runName)-\($1.next())"), continueURI: continueURI)
      }
    default: return nil
    }
  }

  private mutating func castAdmin(_ workload: WorkloadName) throws -> Cast? {
    switch workload {
    case .lookup: return shared(try withPasswords()) { SingleCall.lookup($0) }
    case .customToken: return shared(try withPasswords()) { SingleCall.customToken($0) }
    case .setCustomClaims: return inTurn(try inSession()) { SingleCall.setCustomClaims($0, mark: $1.next()) }
    // Whoever it is: there is somebody.
    case .listAccounts: return shared(try inSession()) { _ in ListAccounts() }
    case .exportAccounts:
      let people = try inSession()
      return shared(people) { _ in SingleCall.exportAccounts(accountsMin: people.count) }
    default: return nil
    }
  }

  private func shared(_ people: [Person], _ make: @escaping (Person) -> any Work) -> Cast {
    (Pool(people, isExclusive: false), { person, _ in make(some(person)) })
  }

  /// For work that changes something of theirs.
  private func inTurn(_ people: [Person], _ make: @escaping (Person, inout SeededGenerator) -> any Work) -> Cast {
    (Pool(people, isExclusive: true), { make(some($0), &$1) })
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
    return inTurn(people) { person, _ in LinkUnlink(person, some(person.token)) }
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
      return inTurn(people) { person, _ in Conflict(person, some(person.token)) }
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
}

/// Of the form of a mailed code.
private func madeUpCode() -> String { Base64URL.encode(Random.bytes(32)) }

/// What the pools of a workload always have: somebody, and for some workloads with a token.
private func some<Value>(_ value: Value?) -> Value {
  guard let value else { preconditionFailure("a workload without its people") }
  return value
}
