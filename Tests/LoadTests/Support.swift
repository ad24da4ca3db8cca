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

func person() -> Person {
  let person = Person(login: login, token: token)
  person.accountID = "id"
  return person
}

/// Gives a work these answers, one after the other, and says how it went: the calls that it made, and its end.
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

/// Every one of these ends as wrong, whatever the reason.
func expectWrong(_ work: any Work, _ cases: [[Answer]], sourceLocation: SourceLocation = #_sourceLocation) {
  for answers in cases {
    let end = play(work, answers).end
    #expect(!["done", "under way"].contains(end), "\(answers)", sourceLocation: sourceLocation)
  }
}
