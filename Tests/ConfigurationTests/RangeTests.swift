import Delivery
import HTTPClient
import HTTP2
import Identity
import Services
import Store
import Testing

@testable import Configuration
@testable import Transport

/// A number in the configuration: its range, and the code's value for it.
private struct NumberSetting: Sendable, CustomTestStringConvertible {
  let path: String
  let range: ClosedRange<Int>
  /// The code's units in one unit of the file.
  var scale: Int64 = 1
  /// Variables of other settings that the limits of the range need.
  var beside: [String: String] = [:]
  let value: @Sendable (Settings) -> Int64

  var testDescription: String { path }
}

private func seconds(
  _ path: String, _ range: ClosedRange<Int>, _ value: @escaping @Sendable (Settings) -> Int64
) -> NumberSetting {
  NumberSetting(path: path, range: range, scale: 1_000, value: value)
}

private func number(
  _ path: String, _ range: ClosedRange<Int>, _ value: @escaping @Sendable (Settings) -> Int
) -> NumberSetting {
  NumberSetting(path: path, range: range) { Int64(value($0)) }
}

private func rate(_ name: String, _ kind: ThrottleKind) -> NumberSetting {
  number("throttles.\(name)_max", 0...1_000_000_000) { $0.policy.throttles[kind].countMax }
}

private func delivery(
  _ name: String, _ range: ClosedRange<Int>, attempt: Int = 1, retry: Int = 20,
  _ value: @escaping @Sendable (DeliverySettings) -> Int64
) -> NumberSetting {
  let beside = ["attempt_seconds": "\(attempt)", "retry_seconds": "\(retry)"].filter { $0.key != name }
  return NumberSetting(
    path: "delivery.\(name)", range: range, scale: 1_000,
    beside: Dictionary(uniqueKeysWithValues: beside.map { (variable("delivery.\($0.key)"), $0.value) })
  ) { value($0.delivery) }
}

private let numbers: [NumberSetting] = [
  delivery("attempt_seconds", 1...60, retry: 61) { $0.schedule.attemptMillis },
  delivery("retry_seconds", 2...3_600) { $0.schedule.firstPauseMillis },
  delivery("retry_max_seconds", 2...86_400, retry: 2) { $0.schedule.pauseMaxMillis },
  number("delivery.attempts_max", 1...1_000) { $0.delivery.schedule.attemptsMax },
  number("delivery.concurrent_max", 1...1_000) { $0.delivery.schedule.concurrentMax },
  NumberSetting(path: "delivery.kept_days", range: 1...365, scale: 86_400_000) { $0.delivery.schedule.keptMillis },
  number("delivery.queue_max", 1...10_000_000) { $0.policy.deliveryQueueMax },
  number("delivery.smtp.port", 1...65_535) { Int($0.delivery.relay.port) },
  number("listen.port", 0...65_535) { Int($0.listen.addresses[0].port) },
  seconds("tls.reload_seconds", 1...3_600) { $0.certificateLookMillis },
  seconds("reload.watch_seconds", 0...3_600) { $0.watchMillis },
  number("reactors", 0...256) { $0.reactors },
  number("metrics.port", 0...65_535) { Int($0.metricsPort) },
  number("keys.port", 0...65_535) { Int($0.keysPort) },
  NumberSetting(path: "tokens.rotate_days", range: 0...3_650, scale: 86_400_000) { $0.keyPolicy.rotateMillis ?? 0 },
  seconds("tokens.publish_lead_seconds", 4...604_800) { $0.keyPolicy.publishLeadMillis },
  seconds("tokens.id_token_lifetime_seconds", 60...86_400) { $0.policy.idTokenLifetimeMillis },
  number("passwords.memory_kib", 1_024...4_194_304) { $0.passwordMemoryKiB },
  number("passwords.iterations", 1...64) { $0.passwordIterations },
  number("passwords.workers", 0...256) { $0.passwordWorkers },
  number("passwords.queue_max", 1...100_000) { $0.limits.passwordWorkersQueueMax },
  number("passwords.bytes_min", 8...64) { $0.policy.passwordBytesMin },
  number("passwords.imported_bcrypt_cost_max", 4...16) { $0.policy.importedBcryptCostMax },
  number("policy.identities_per_provider_max", 1...10) { $0.policy.identitiesPerProviderMax },
  seconds("policy.recent_login_seconds", 1...86_400) { $0.policy.recentLoginMillis },
  seconds("policy.link_recent_login_seconds", 1...86_400) { $0.policy.linkRecentLoginMillis },
  seconds("policy.password_recent_login_seconds", 0...86_400) { $0.policy.ownWindowMillis(.changePassword) },
  seconds("policy.email_recent_login_seconds", 0...86_400) { $0.policy.ownWindowMillis(.changeEmail) },
  seconds("policy.delete_recent_login_seconds", 0...86_400) { $0.policy.ownWindowMillis(.delete) },
  seconds("policy.unlink_recent_login_seconds", 0...86_400) { $0.policy.ownWindowMillis(.unlink) },
  seconds("policy.merge_recent_login_seconds", 0...86_400) { $0.policy.ownWindowMillis(.merge) },
  seconds("policy.factor_recent_login_seconds", 0...86_400) { $0.policy.ownWindowMillis(.changeFactors) },
  seconds("policy.invitation_lifetime_seconds", 3_600...2_592_000) { $0.policy.invitationLifetimeMillis },
  seconds("policy.session_cookie_recent_login_seconds", 0...86_400) {
    $0.policy.ownWindowMillis(.createSessionCookie)
  },
  seconds("policy.anonymous_idle_seconds", 0...31_536_000) { $0.policy.anonymousIdleMillis },
  seconds("policy.pending_lifetime_seconds", 1...900) { $0.policy.pendingLifetimeMillis },
  seconds("policy.flow_lifetime_seconds", 30...600) { $0.policy.flowLifetimeMillis },
  number("policy.pending_attempts_max", 1...100) { $0.policy.pendingAttemptsMax },
  number("policy.passkeys_per_account_max", 1...100) { $0.policy.passkeysPerAccountMax },
  number("policy.pending_per_account_max", 1...10_000) { $0.policy.pendingLimits.perAccountMax },
  number("policy.pending_per_caller_max", 1...10_000_000) { $0.policy.pendingLimits.perCallerMax },
  number("policy.pending_total_max", 1...100_000_000) { $0.policy.pendingLimits.totalMax },
  seconds("policy.refresh_grace_seconds", 0...10) { $0.policy.refreshGraceMillis },
  seconds("policy.session_idle_seconds", 60...31_536_000) { $0.policy.sessionIdleMillis },
  seconds("policy.session_absolute_seconds", 60...157_680_000) { $0.policy.sessionAbsoluteMillis },
  seconds("policy.second_factor_session_idle_seconds", 60...3_600) { $0.policy.secondFactorSessionIdleMillis },
  seconds("policy.second_factor_session_absolute_seconds", 60...86_400) {
    $0.policy.secondFactorSessionAbsoluteMillis
  },
  number("limits.connections_max", 1...1_000_000) { $0.limits.connectionsMax },
  number("limits.connections_per_address_max", 1...1_000_000) { $0.limits.connectionsPerAddressMax },
  NumberSetting(path: "limits.handshake_millis", range: 10...60_000) { $0.limits.handshakeMillis },
  NumberSetting(path: "limits.request_millis", range: 10...600_000) { $0.limits.requestMillis },
  number("limits.streams_per_connection_max", 1...10_000) { $0.limits.session.streamsMax },
  number("limits.message_bytes_max", 1_024...4_194_304) { $0.limits.messageBytesMax },
  number("limits.header_list_bytes_max", 4_096...65_536) { $0.limits.session.headerListBytesMax },
  number("limits.offences_per_address_max", 0...1_000_000) { $0.limits.offencesPerAddressMax },
  number("limits.resets_max", 1...1_000_000) { $0.limits.session.budget.unfinishedResets.count },
  number("limits.resets_percent_max", 0...100) { $0.limits.session.budget.unfinishedResetsPercent },
  seconds("limits.answer_still_seconds", 1...3_600) { $0.limits.session.untaken.stillMillis },
  seconds("limits.answer_seconds", 1...3_600) { $0.limits.session.untaken.wholeMillis },
  seconds("limits.write_still_seconds", 1...3_600) { $0.limits.socket.stillMillis },
  seconds("limits.idle_seconds", 1...86_400) { $0.limits.life.idleMillis },
  seconds("limits.age_seconds", 1...604_800) { $0.limits.life.ageMillis },
  seconds("limits.keepalive_seconds", 1...86_400) { $0.limits.life.keepaliveMillis },
  seconds("limits.keepalive_timeout_seconds", 1...3_600) { $0.limits.life.keepaliveTimeoutMillis },
  number("fetch.total_millis", 100...5_000) { $0.fetchSettings.limits.totalTimeMillis },
  number("fetch.per_provider_max", 1...1_000) { $0.fetchSettings.limits.perProviderMax },
  number("fetch.waiting_per_provider_max", 0...10_000) { $0.fetchSettings.limits.waitingPerProviderMax },
  number("fetch.failures_max", 1...1_000) { $0.fetchSettings.limits.failuresMax },
  number("fetch.pause_millis", 10...600_000) { $0.fetchSettings.limits.pauseMillis },
  seconds("limits.lame_duck_seconds", 0...600) { $0.limits.lameDuckMillis },
  seconds("limits.drain_seconds", 1...3_600) { $0.limits.drainMillis },
  seconds("limits.store_gone_seconds", 1...3_600) { $0.limits.storeGoneMillis },
  number("store.postgres.connections", 1...64) { $0.postgres.connections },
  seconds("store.postgres.statement_seconds", 1...60) { $0.postgres.statementMillis },
  seconds("store.postgres.lock_seconds", 1...60) { $0.postgres.lockMillis },
  seconds("store.postgres.wait_seconds", 1...60) { $0.postgres.waitMillis },
  number("store.backups_kept", 0...100_000) { $0.backupsKeptMax },
  seconds("store.backup_seconds", 1...3_600) { $0.backupMillis },
  seconds("store.check_seconds", 0...86_400) { $0.storeCheckMillis },
  NumberSetting(path: "store.audit_days", range: 1...36_500, scale: 86_400_000) { $0.policy.auditLifetimeMillis },
  NumberSetting(path: "store.failure_days", range: 1...3_650, scale: 86_400_000) {
    $0.policy.failureLifetimeMillis
  },
  number("throttles.password_failures_max", 1...1_000_000) {
    $0.policy.throttles[.passwordFailuresPerAccount].countMax
  },
  number("throttles.code_failures_max", 1...1_000_000) { $0.policy.throttles[.codeFailuresOnKnownDevices].countMax },
  number("throttles.failures_again_max", 1...100) { $0.policy.throttles[.passwordFailuresPerDevice].countAgainMax },
  seconds("throttles.block_seconds", 1...86_400) { $0.policy.throttles[.passwordFailuresPerDevice].blockMillis },
  NumberSetting(
    path: "throttles.block_seconds_max", range: 1...2_592_000, scale: 1_000,
    beside: [variable("throttles.block_seconds"): "1"]
  ) { $0.policy.throttles[.codeFailuresPerAccount].blockMillisMax },
  rate("password_failures_per_network", .passwordFailuresPerNetwork),
  rate("password_failures_per_caller", .passwordFailuresPerCaller),
  rate("code_failures_per_network", .codeFailuresPerNetwork),
  rate("code_failures_per_caller", .codeFailuresPerCaller),
  rate("sign_ups_per_network", .signUpsPerNetwork),
  rate("sign_ups_per_caller", .signUpsPerCaller),
  rate("flow_starts_per_network", .flowStartsPerNetwork),
  rate("flow_starts_per_caller", .flowStartsPerCaller),
  rate("sends_per_recipient", .sendsOnKnownDevices),
  rate("resets_per_recipient", .resetsOnKnownDevices),
  rate("sends_per_network", .sendsPerNetwork),
  rate("sends_per_caller", .sendsPerCaller),
  rate("changes_per_account", .changesPerAccount),
  rate("password_changes_per_account", .passwordChangesPerAccount),
  rate("notices_per_account", .noticesPerAccount),
  number("limits.watchers_max", 1...10_000) { $0.limits.watch.watchersMax },
  number("limits.watchers_per_caller_max", 1...10_000) { $0.limits.watch.watchersPerCallerMax },
  seconds("limits.watch_heartbeat_seconds", 1...3_600) { $0.limits.watch.heartbeatMillis },
]

@Test func `the range of every listed number is tested`() throws {
  // The only share, tracing.sample_ratio, is tested on its own.
  let listed = Settings.list().filter { $0.contains(/^\S+ = \d+\s/) }.map { String($0.prefix { $0 != " " }) }
  // Elements of lists have no variables. HookSettingsTests.swift and SecondFactorRulesTests.swift test those.
  #expect(Set(listed.filter { !$0.contains("[].") }) == Set(numbers.map(\.path)))
}

@Test func `a share is accepted from 0 to 1 and rejected by name past them`() throws {
  let name = variable("tracing.sample_ratio")
  for (text, share) in [("0", 0.0), ("0.25", 0.25), ("1", 1.0)] {
    #expect(try settings(environment: [name: text]).tracing.sampleRatio == share)
  }
  for text in ["-0.01", "1.01", "many"] {
    let fault = #expect(throws: ConfigurationError.self) { try settings(environment: [name: text]) }
    #expect(fault?.setting == "tracing.sample_ratio")
  }
}

@Test(arguments: numbers)
private func `a number is accepted at both ends of its range and rejected by name past them`(
  setting: NumberSetting
) throws {
  for edge in [setting.range.lowerBound, setting.range.upperBound] {
    let fromFile = try settings(nested(setting.path, "\(edge)"), environment: setting.beside)
    #expect(setting.value(fromFile) == Int64(edge) * setting.scale)
    let ours = [variable(setting.path): "\(edge)"]
    let fromEnvironment = try settings(environment: ours.merging(setting.beside) { mine, _ in mine })
    #expect(setting.value(fromEnvironment) == Int64(edge) * setting.scale)
  }
  for past in [setting.range.lowerBound - 1, setting.range.upperBound + 1] {
    #expect(refusal { try settings(nested(setting.path, "\(past)")) }?.setting == setting.path)
  }
  for odd in ["\"\(setting.range.lowerBound)\"", "\(setting.range.lowerBound).5", "true", "[]", "{}", "1e300"] {
    #expect(refusal { try settings(nested(setting.path, odd)) }?.setting == setting.path, "\(odd)")
  }
  for odd in ["", "many", "1.5", "-1", "nan", "inf", "true"] {
    #expect(refusal { try settings(environment: [variable(setting.path): odd]) }?.setting == setting.path, "\(odd)")
  }
}

@Test func `a connection has the grace time of the drain`() throws {
  #expect(try settings("limits: { drain_seconds: 7 }").limits.life.graceMillis == 7_000)
}

extension Policy {
  /// 0 means the window of `recent_login_seconds`.
  fileprivate func ownWindowMillis(_ operation: SensitiveOperation) -> Int64 {
    recentLoginWindowsMillis[operation] ?? 0
  }
}
