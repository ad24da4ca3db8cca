internal import Crypto
internal import Encodings

// The users of each workload, and the work of each iteration.

extension Preparation {
  typealias Cast = (Pool?, (LoadUser?, inout SeededGenerator) -> any Work)

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
    case .refresh: return inTurn(try inSession()) { user, _ in SingleCall.refresh(user) }
    case .update: return inTurn(try inSession()) { SingleCall.update($0, displayName: "Load \($1.next())") }
    case .merge: return inTurn(try proved()) { user, _ in Merge(user) }
    case .secondFactor: return inTurn(try proved()) { user, _ in SecondFactor(user) }
    case .signInIDToken: return try castSignIn()
    case .linkUnlink: return try castLink()
    case .conflict, .fetchPending: return try castConflict(workload)
    default: preconditionFailure("\(workload.rawValue) has no work")
    }
  }

  private typealias Make = (inout SeededGenerator) -> any Work

  /// Returns the work of workloads that need no users or create their own.
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

  /// The number of rows in each import message.
  private static let batchRows = 20
  /// A phone number that has no owner and never receives messages.
  private static let factorNumber = "+441632960961"

  /// Returns the work of workloads with codes: codes sent to fresh recipients, and invalid codes.
  private func codeOfNobody(_ workload: WorkloadName) -> Make? {
    let (continueURI, runName) = (flow.redirectURI, runName)
    switch workload {
    // Do not use the seeded generator. The server limits messages to one number, also across runs.
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
          user: $0, newEmail: .freshEmail("\(runName)-\($1.next())"), continueURI: continueURI)
      }
    default: return nil
    }
  }

  private mutating func castAdmin(_ workload: WorkloadName) throws -> Cast? {
    switch workload {
    case .lookup: return shared(try withPasswords()) { SingleCall.lookup($0) }
    case .customToken: return shared(try withPasswords()) { SingleCall.customToken($0) }
    case .setCustomClaims: return inTurn(try inSession()) { SingleCall.setCustomClaims($0, mark: $1.next()) }
    // Any account will do, but there must be one.
    case .listAccounts: return shared(try inSession()) { _ in ListAccounts() }
    case .exportAccounts:
      let people = try inSession()
      return shared(people) { _ in SingleCall.exportAccounts(accountsMin: people.count) }
    default: return nil
    }
  }

  private func shared(_ people: [LoadUser], _ make: @escaping (LoadUser) -> any Work) -> Cast {
    (Pool(people, isExclusive: false), { user, _ in make(some(user)) })
  }

  /// Casts work that changes its user. Each user takes part in one iteration at a time.
  private func inTurn(_ people: [LoadUser], _ make: @escaping (LoadUser, inout SeededGenerator) -> any Work) -> Cast {
    (Pool(people, isExclusive: true), { make(some($0), &$1) })
  }

  // MARK: With tokens of providers

  private func castSignIn() throws -> Cast {
    let people = try having(tokens.of(.signIn), "sign-in", atLeast: 1).map { LoadUser(token: $0.token) }
    try run("identities", people.map { OpenSession(user: $0) })
    return shared(people) { SingleCall.signIn(.provider(some($0.token)), as: $0) }
  }

  private mutating func castLink() throws -> Cast {
    let tokens = try having(tokens.of(.link), "link", atLeast: target.placeCount)
    // Use separate accounts, because the work changes them.
    let people = fresh(tokens.count)
    for (user, token) in zip(people, tokens) { user.token = token.token }
    try make(people)
    return inTurn(people) { user, _ in LinkUnlink(user, some(user.token)) }
  }

  private mutating func castConflict(_ workload: WorkloadName) throws -> Cast {
    // If the mix has both workloads, each gets half of the tokens, so that they do not disturb each other.
    let all = tokens.of(.conflict)
    let names = Set(scenario.parts.map(\.workload))
    let half = names.isSuperset(of: [.conflict, .fetchPending]) ? all.count / 2 : 0
    let isConflict = workload == .conflict
    let own = half == 0 ? all[...] : isConflict ? all[..<half] : all[half...]
    let tokens = try having(Array(own), "conflict", atLeast: isConflict ? target.placeCount : 1)
    let known = Dictionary(known.map { ($0.login.email, $0) }) { first, _ in first }
    let people = tokens.map { token in
      let user = known[token.email] ?? LoadUser(login: .fresh(""))
      user.login.email = token.email
      user.token = token.token
      return user
    }
    try makeUnknown(people)
    if isConflict {
      return inTurn(people) { user, _ in Conflict(user, some(user.token)) }
    }
    try run("pending credentials", people.map { FetchHeld($0, some($0.token)) })
    return shared(people) { FetchHeld($0, some($0.token)) }
  }

  private func having(_ tokens: [TokensFile.Token], _ use: String, atLeast: Int) throws -> [TokensFile.Token] {
    guard tokens.count >= atLeast else {
      throw FileError(
        description: "--tokens has \(tokens.count) tokens for \(use), but \(atLeast) are needed: make them with "
          + "deploy/load/tokens.py")
    }
    return tokens
  }
}

/// Returns an invalid code with the form of a code in a link.
private func madeUpCode() -> String { Base64URL.encode(Random.bytes(32)) }

/// Unwraps a user or token that the pool of the workload always has.
private func some<Value>(_ value: Value?) -> Value {
  guard let value else { preconditionFailure("the workload has no users") }
  return value
}
