import Testing

@testable import latchkey_load

let login = Login(email: "a@example.com", password: "correct horse")
let token = ProviderToken(providerID: "oidc.corp", idToken: "token")

func facts(_ id: String = "id", providers: [String] = [], isNew: Bool = false) -> SessionFacts {
  SessionFacts(
    id: "s", idToken: "i", refreshToken: "r",
    account: AccountFacts(id: id, email: login.email, isAnonymous: false, providerIDs: providers), isNew: isNew)
}

func session(_ id: String = "id", providers: [String] = [], isNew: Bool = false) -> Answer {
  .session(facts(id, providers: providers, isNew: isNew))
}

func user() -> LoadUser {
  let user = LoadUser(login: login, token: token)
  user.accountID = "id"
  return user
}

/// Gives these answers to a work, one after the other. Returns the calls that it made, and its end.
func play(_ work: any Work, _ answers: [Answer], atNanos nanos: Int64 = 0) -> (calls: [Method], end: String) {
  var work = work
  var calls: [Method] = []
  for answer in [nil] + answers.map(Optional.some) {
    switch work.next(answer, nowNanos: nanos) {
    case .call(let call): calls.append(call.method)
    case .done: return (calls, "done")
    case .wrong(let why): return (calls, why)
    }
  }
  return (calls, "under way")
}

/// Checks that every one of these ends as wrong, for any reason.
func expectWrong(_ work: any Work, _ cases: [[Answer]], sourceLocation: SourceLocation = #_sourceLocation) {
  for answers in cases {
    let end = play(work, answers).end
    #expect(!["done", "under way"].contains(end), "\(answers)", sourceLocation: sourceLocation)
  }
}
