package import Store

/// The retry schedule of messages.
package struct Schedule: Hashable, Sendable {
  /// Time limit of one attempt. The pause after it is longer: an attempt lost with its process is over when the next
  /// one starts.
  package var attemptMillis: Int64 = 15_000
  package var firstPauseMillis: Int64 = 20_000
  package var pauseMaxMillis: Int64 = 3_600_000
  package var attemptsMax = 20
  /// Concurrent attempts in one process. Several channels share them equally, so that a slow mail relay delays no text
  /// message. Notices use at most half of a channel's share.
  package var concurrentMax = 16
  /// Maximum number of concurrent mails, for a transport that needs a thread for each.
  package var mailsMax = Int.max
  /// Time for which a failed message is kept.
  package var keptMillis: Int64 = 14 * 86_400_000

  package init() {}

  /// What to do with a due message.
  package enum Start: Hashable, Sendable {
    case attempt(nextAttemptAt: Timestamp)
    case bury(reason: String)
  }

  /// What to do after an attempt.
  package enum Next: Hashable, Sendable {
    case remove
    /// Wait for the next attempt. The claim of this attempt has set its time.
    case wait
    case bury(reason: String)
  }

  /// Decides about a due message. The claim of an attempt also sets the time of the next one, in case the process ends
  /// during the attempt.
  /// - Parameter chance: A random number from 0 to 255, drawn for each call.
  package func start(_ record: DeliveryRecord, now: Timestamp, chance: UInt8) -> Start {
    if now >= record.expiresAt { return .bury(reason: "expired") }
    if record.attempts >= attemptsMax { return .bury(reason: "attempts: \(record.attempts) were made") }
    return .attempt(nextAttemptAt: now.adding(millis: pauseMillis(attempts: record.attempts, chance: chance)))
  }

  /// Decides what to do after an attempt.
  /// - Parameters:
  ///   - attempts: Number of attempts, including this one.
  ///   - nextAttemptAt: The time that the claim has set.
  package func next(
    _ verdict: Verdict, attempts: Int, nextAttemptAt: Timestamp, expiresAt: Timestamp
  ) -> Next {
    switch verdict {
    case .delivered: return .remove
    case .refused(let why): return .bury(reason: "refused: \(why)")
    case .failed(let why):
      if attempts >= attemptsMax { return .bury(reason: "attempts: \(why)") }
      return nextAttemptAt >= expiresAt ? .bury(reason: "expired: \(why)") : .wait
    }
  }

  /// Returns the limit for each class of the messages to look up.
  ///
  /// - Parameter transports: Number of channels with a transport. For other channels the search only finds expired
  ///   messages.
  package func room(underWay: [DeliveryClass: Int], transports: Int) -> [DeliveryClass: Int] {
    func count(_ each: DeliveryClass) -> Int { underWay[each] ?? 0 }
    return Dictionary(
      uniqueKeysWithValues: DeliveryClass.all.map { each in
        let codes = count(DeliveryClass(each.channel, .code))
        let notices = count(DeliveryClass(each.channel, .notice))
        let places = places(each.channel, transports: transports)
        let free = max(0, places - codes - notices)
        return (each, each.priority == .code ? free : max(0, min(free, max(1, places / 2) - notices)))
      })
  }

  /// Returns the messages to attempt now: those of `due` that have a place, the urgent ones of a channel first.
  package func choose(
    _ due: [DeliveryRecord], underWay: [DeliveryClass: Int], transports: Int
  ) -> [DeliveryRecord] {
    var free: [DeliveryChannel: Int] = [:]
    let room = room(underWay: underWay, transports: transports)
    for channel in DeliveryChannel.allCases { free[channel] = room[DeliveryClass(channel, .code)] }
    var chosen: [DeliveryRecord] = []
    for priority in DeliveryPriority.allCases {
      for record in due where record.priority == priority && free[record.channel, default: 0] > 0 {
        free[record.channel, default: 0] -= 1
        chosen.append(record)
      }
    }
    return chosen
  }

  /// Returns the maximum number of concurrent attempts of one channel.
  ///
  /// - Parameter transports: Number of channels with a transport.
  package func places(_ channel: DeliveryChannel, transports: Int) -> Int {
    let share = (concurrentMax + max(1, transports) - 1) / max(1, transports)
    return channel == .mail ? min(share, mailsMax) : share
  }

  /// Returns the pause after an attempt. It doubles with every attempt up to its maximum. Jitter extends it by up to a
  /// quarter, so that messages that failed together are not retried together.
  func pauseMillis(attempts: Int, chance: UInt8) -> Int64 {
    var pause = min(firstPauseMillis, pauseMaxMillis)
    for _ in 0..<min(attempts, 62) where pause < pauseMaxMillis { pause = min(pauseMaxMillis, pause * 2) }
    return pause + pause * Int64(chance) / 1_020
  }
}
