internal import Identity
internal import Store

extension Settings {
  mutating func readThrottles(_ reader: inout SettingsReader) throws(ConfigurationError) {
    try reader.group("throttles") { group throws(ConfigurationError) in
      try readBlocks(&group)
      for (name, kind, meaning) in Settings.rates {
        let standard = policy.throttles[kind].countMax
        let countMax = try group.integer(name, standard, 0...1_000_000_000, meaning)
        (policy.throttles[kind].countMax, policy.throttles[kind].countAgainMax) = (countMax, countMax)
      }
      policy.throttles[.sendsOnKnownDevices] = policy.throttles[.sendsPerRecipient]
      policy.throttles[.resetsOnKnownDevices] = policy.throttles[.resetsPerRecipient]
    }
  }

  /// Failures in a row: what they block grows.
  private mutating func readBlocks(_ group: inout SettingsReader) throws(ConfigurationError) {
    let passwords = try group.integer(
      "password_failures_max", 100, 1...1_000_000,
      "wrong passwords in a row before the password of that address is blocked; on a known device, counted apart")
    let codes = try group.integer(
      "code_failures_max", 30, 1...1_000_000,
      "wrong codes in a row before those of that address, number or account are; on known devices, counted apart")
    let again = try group.integer("failures_again_max", 10, 1...100, "the same after a first block")
    let first = try group.seconds("block_seconds", 900, 1...86_400, "the first block; each next one is twice as long")
    let longest = try group.seconds("block_seconds_max", 86_400, 1...2_592_000, "the longest block")
    guard first <= longest else { throw group.wrong("block_seconds", "it must be at most block_seconds_max") }
    for (kind, countMax) in [
      (ThrottleKind.passwordFailuresPerAccount, passwords), (.passwordFailuresPerDevice, passwords),
      (.codeFailuresPerAccount, codes), (.codeFailuresOnKnownDevices, codes),
    ] {
      policy.throttles[kind].countMax = countMax
      policy.throttles[kind].countAgainMax = min(again, countMax)
      policy.throttles[kind].blockMillis = first
      policy.throttles[kind].blockMillisMax = longest
    }
  }

  private static let rates: [(String, ThrottleKind, String)] = [
    (
      "password_failures_per_network_max", .passwordFailuresPerNetwork,
      "wrong passwords from one client address (IPv6: one /64 network) in 10 minutes; 0: any number"
    ),
    ("password_failures_per_caller_max", .passwordFailuresPerCaller, "the same through one caller"),
    ("code_failures_per_network_max", .codeFailuresPerNetwork, "wrong codes from one client address in 10 minutes"),
    ("code_failures_per_caller_max", .codeFailuresPerCaller, "the same through one caller"),
    (
      "sign_ups_per_network_max", .signUpsPerNetwork,
      "anonymous accounts, Create without a code, Link of a password at a taken address: one client address, an hour"
    ),
    ("sign_ups_per_caller_max", .signUpsPerCaller, "the same through one caller"),
    (
      "flow_starts_per_network_max", .flowStartsPerNetwork,
      "StartFlow calls from one client address (IPv6: one /64 network) in 10 minutes; 0: any number"
    ),
    (
      "flow_starts_per_caller_max", .flowStartsPerCaller,
      "the same through one caller, without a session"
    ),
    (
      "sends_per_recipient_max", .sendsPerRecipient,
      "mails or messages to one address or number, or for one account's factors, in an hour; on known devices as many"
    ),
    (
      "resets_per_recipient_max", .resetsPerRecipient,
      "password resets by email to one address in an hour; on known devices as many"
    ),
    ("sends_per_network_max", .sendsPerNetwork, "the same on behalf of one client address"),
    ("sends_per_caller_max", .sendsPerCaller, "the same through one caller"),
    (
      "changes_per_account_max", .changesPerAccount,
      "changes of one account in 10 minutes: Update without a new password, what is linked and what is enrolled"
    ),
    (
      "password_changes_per_account_max", .passwordChangesPerAccount,
      "new passwords of one account in 10 minutes, set by Update; resets by email do not count"
    ),
    (
      "notices_per_account_max", .noticesPerAccount,
      "notices of one kind to one account in an hour; the next ones are dropped; 0: any number"
    ),
  ]
}
