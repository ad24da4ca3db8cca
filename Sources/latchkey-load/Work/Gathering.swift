/// The collection of a response stream: one expected message, or all messages combined.
struct Gathering {
  enum Wish: Equatable {
    case first
    /// An event of this account.
    case event(accountID: String)
    case all
  }

  let wish: Wish
  private(set) var answer: Answer?
  /// Whether the rest of the stream is irrelevant.
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

  /// The result, when the stream has ended without an error.
  var whole: Answer {
    guard wish == .all || isEnough else { return .other("the end of the stream") }
    return answer ?? .other("a stream without messages")
  }
}

extension Answer {
  /// Combines two batches of one stream.
  fileprivate func joined(_ next: Answer) -> Answer {
    switch (self, next) {
    case (.imported(let before), .imported(let more)):
      .imported(
        ImportFacts(
          imported: before.imported + more.imported, unchanged: before.unchanged + more.unchanged,
          reasons: before.reasons + more.reasons))
    case (.exported(let accounts, let whole), .exported(let moreAccounts, let moreWhole)):
      .exported(accounts: accounts + moreAccounts, whole: whole + moreWhole)
    default: .other("a stream of different messages")
    }
  }
}
