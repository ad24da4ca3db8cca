package import Store

/// When messages are tried, and for how long.
package struct Schedule: Hashable, Sendable {
  /// One attempt, at most. The pause after it is longer, so that an attempt that was lost with its process is never
  /// under way when the next one begins.
  package var attemptMillis: Int64 = 15_000
  package var firstPauseMillis: Int64 = 20_000
  package var pauseMaxMillis: Int64 = 3_600_000
  package var attemptsMax = 20
  /// Concurrent attempts in one process. Several channels share them equally, so that a slow mail relay delays no text
  /// message. Notices use at most half of a channel's share.
  package var concurrentMax = 16
  /// The limit for mails, where they leave by a transport that needs a thread for each.
  package var mailsMax = Int.max
  /// How long a message that was given up is remembered.
  package var keptMillis: Int64 = 14 * 86_400_000

  package init() {}

  /// What to do with a message that is due.
  package enum Start: Hashable, Sendable {
    case attempt(nextAttemptAt: Timestamp)
    case bury(reason: String)
  }

  /// What an attempt leaves to do.
  package enum Next: Hashable, Sendable {
    case remove
    /// The next attempt was set when this one was taken.
    case wait
    case bury(reason: String)
  }

  /// The claim of an attempt sets the next one, for who dies in the middle of it.
  /// - Parameter chance: anything from 0 to 255, drawn anew each time.
  package func start(_ record: DeliveryRecord, now: Timestamp, chance: UInt8) -> Start {
    if now >= record.expiresAt { return .bury(reason: "expired") }
    if record.attempts >= attemptsMax { return .bury(reason: "attempts: \(record.attempts) were made") }
    return .attempt(nextAttemptAt: now.adding(millis: pauseMillis(attempts: record.attempts, chance: chance)))
  }

  /// - Parameters:
  ///   - attempts: with the one that this is the verdict of.
  ///   - nextAttemptAt: as the claim has set it.
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
  /// - Parameter roads: how many channels have one. Messages of the others are only looked at, for those that have
  ///   expired.
  package func room(underWay: [DeliveryClass: Int], roads: Int) -> [DeliveryClass: Int] {
    func count(_ each: DeliveryClass) -> Int { underWay[each] ?? 0 }
    return Dictionary(
      uniqueKeysWithValues: DeliveryClass.all.map { each in
        let codes = count(DeliveryClass(each.channel, .code))
        let notices = count(DeliveryClass(each.channel, .notice))
        let places = places(each.channel, roads: roads)
        let free = max(0, places - codes - notices)
        return (each, each.priority == .code ? free : max(0, min(free, max(1, places / 2) - notices)))
      })
  }

  /// Returns the messages to attempt now: those of `due` that have a place, the urgent ones of a channel first.
  package func choose(
    _ due: [DeliveryRecord], underWay: [DeliveryClass: Int], roads: Int
  ) -> [DeliveryRecord] {
    var free: [DeliveryChannel: Int] = [:]
    let room = room(underWay: underWay, roads: roads)
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

  /// The concurrent attempts of one channel.
  ///
  /// - Parameter roads: how many of the channels are in use.
  package func places(_ channel: DeliveryChannel, roads: Int) -> Int {
    let share = (concurrentMax + max(1, roads) - 1) / max(1, roads)
    return channel == .mail ? min(share, mailsMax) : share
  }

  /// Doubled with every attempt, up to its maximum; and up to a quarter longer by chance, so that what failed together
  /// does not come back together.
  func pauseMillis(attempts: Int, chance: UInt8) -> Int64 {
    var pause = min(firstPauseMillis, pauseMaxMillis)
    for _ in 0..<min(attempts, 62) where pause < pauseMaxMillis { pause = min(pauseMaxMillis, pause * 2) }
    return pause + pause * Int64(chance) / 1_020
  }
}
