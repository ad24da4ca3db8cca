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

  /// Reads the limits of consecutive failures, whose blocks grow.
  private mutating func readBlocks(_ group: inout SettingsReader) throws(ConfigurationError) {
    let passwords = try group.integer(
      "password_failures_max", 100, 1...1_000_000,
      "consecutive wrong passwords before an email's password is blocked; known devices count separately")
    let codes = try group.integer(
      "code_failures_max", 30, 1...1_000_000,
      "consecutive wrong codes before an email, phone or account is blocked; known devices count separately")
    let again = try group.integer("failures_again_max", 10, 1...100, "the same after the first block")
    let first = try group.seconds(
      "block_seconds", 900, 1...86_400, "duration of the first block; each further block is twice as long")
    let longest = try group.seconds("block_seconds_max", 86_400, 1...2_592_000, "maximum duration of a block")
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
      "wrong passwords from one IP address (IPv6: one /64 network) in 10 minutes; 0: no limit"
    ),
    ("password_failures_per_caller_max", .passwordFailuresPerCaller, "the same for one caller"),
    ("code_failures_per_network_max", .codeFailuresPerNetwork, "wrong codes from one IP address in 10 minutes"),
    ("code_failures_per_caller_max", .codeFailuresPerCaller, "the same for one caller"),
    (
      "sign_ups_per_network_max", .signUpsPerNetwork,
      "anonymous accounts, Create without a code, Link of a password to an email in use; from one IP address in an hour"
    ),
    ("sign_ups_per_caller_max", .signUpsPerCaller, "the same for one caller"),
    (
      "flow_starts_per_network_max", .flowStartsPerNetwork,
      "StartFlow calls from one IP address (IPv6: one /64 network) in 10 minutes; 0: no limit"
    ),
    (
      "flow_starts_per_caller_max", .flowStartsPerCaller,
      "the same for one caller, without a session"
    ),
    (
      "sends_per_recipient_max", .sendsPerRecipient,
      "messages to one email or phone, or for one account's factors, in an hour; as many from known devices"
    ),
    (
      "resets_per_recipient_max", .resetsPerRecipient,
      "password resets to one email address in an hour; as many from known devices"
    ),
    ("sends_per_network_max", .sendsPerNetwork, "messages on behalf of one IP address in an hour"),
    ("sends_per_caller_max", .sendsPerCaller, "the same for one caller"),
    (
      "changes_per_account_max", .changesPerAccount,
      "changes of one account in 10 minutes: Update without a new password, linking and enrollment"
    ),
    (
      "password_changes_per_account_max", .passwordChangesPerAccount,
      "password changes of one account by Update in 10 minutes; resets by email do not count"
    ),
    (
      "notices_per_account_max", .noticesPerAccount,
      "notices of one kind to one account in an hour; further ones are dropped; 0: no limit"
    ),
  ]
}
