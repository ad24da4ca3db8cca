/// What an answer that is a stream comes to: a message that is waited for, or all of them together.
struct Gathering {
  enum Wish: Equatable {
    case first
    /// That something has happened to this account.
    case event(accountID: String)
    case all
  }

  let wish: Wish
  private(set) var answer: Answer?
  /// The rest of the stream is not waited for.
  private(set) var isEnough = false

  init(_ wish: Wish) { self.wish = wish }

  mutating func take(_ message: Answer) {
    guard !isEnough else { return }
    switch (wish, message) {
    case (.all, _): answer = answer?.joined(message) ?? message
    case (.event(let accountID), .event(let event)) where event.accountID != accountID: break
    default:
      answer = message
      isEnough = true
    }
  }

  /// What it came to where the stream has ended well.
  var whole: Answer {
    guard wish == .all || isEnough else { return .other("the end of the stream") }
    return answer ?? .other("a stream without a message")
  }
}

extension Answer {
  /// Batches of one stream.
  fileprivate func joined(_ next: Answer) -> Answer {
    switch (self, next) {
    case (.imported(let before), .imported(let more)):
      .imported(
        ImportFacts(
          imported: before.imported + more.imported, unchanged: before.unchanged + more.unchanged,
          reasons: before.reasons + more.reasons))
    case (.exported(let accounts, let whole), .exported(let moreAccounts, let moreWhole)):
      .exported(accounts: accounts + moreAccounts, whole: whole + moreWhole)
    default: .other("a stream of different things")
    }
  }
}
