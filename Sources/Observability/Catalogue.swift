/// All metrics of the server. deploy/docs/monitoring.md has the same table.
package enum Catalogue {
  package static let calls = MetricFamily(
    "latchkey_calls_total", .counter, "Completed calls, by method and gRPC status.")
  static let callSeconds = MetricFamily(
    "latchkey_call_seconds", .histogram,
    "Time from the turn in which a unary call began to the end of the turn that answered it.")
  static let callsInFlight = MetricFamily(
    "latchkey_calls_in_flight", .gauge, "Calls in progress, by method.")
  package static let clientGone = MetricFamily(
    "latchkey_calls_client_gone_total", .counter,
    "Calls whose client disconnected before the response.")
  package static let failures = MetricFamily(
    "latchkey_failures_total", .counter, "Failed calls, by reason.")
  static let signIns = MetricFamily(
    "latchkey_sign_ins_total", .counter, "Calls that presented a credential, by method, provider and outcome.")
  static let callerCalls = MetricFamily(
    "latchkey_caller_calls_total", .counter, "Completed calls of each caller, by result.")
  static let callerOutcomes = MetricFamily(
    "latchkey_caller_outcomes_total", .counter, "Sign-ins and failed calls of each caller, by outcome.")
  static let refusals = MetricFamily(
    "latchkey_refusals_total", .counter, "Requests rejected or delayed by a limit, and unidentified callers.")

  package static let connections = MetricFamily(
    "latchkey_connections", .gauge, "Open connections, including handshakes.")
  package static let accepted = MetricFamily(
    "latchkey_connections_accepted_total", .counter, "Connections accepted within the limits.")
  package static let streams = MetricFamily("latchkey_streams", .gauge, "Open HTTP/2 streams.")
  package static let handshakes = MetricFamily("latchkey_tls_handshakes_total", .counter, "TLS handshakes, by result.")
  package static let certificateEnd = MetricFamily(
    "latchkey_certificate_not_after_seconds", .gauge, "Expiry of the current certificate, as Unix time.")
  package static let clientAuthorityEnd = MetricFamily(
    "latchkey_client_ca_not_after_seconds", .gauge,
    "Earliest expiry of the authorities in tls.client_ca_file, as Unix time.")
  package static let signingKeySince = MetricFamily(
    "latchkey_signing_key_active_timestamp_seconds", .gauge,
    "Time since which the current signing key signs, as Unix time.")
  package static let certificateLoaded = MetricFamily(
    "latchkey_certificate_loaded_timestamp_seconds", .gauge,
    "Last load of the certificate files, as Unix time.")
  package static let certificateReloads = MetricFamily(
    "latchkey_certificate_reloads_total", .counter, "Reloads of changed certificate files, by result.")

  package static let apiKeyEnd = MetricFamily(
    "latchkey_api_key_not_after_seconds", .gauge, "Expiry of an API key, as Unix time, by caller and key.")
  package static let apiKeyUse = MetricFamily(
    "latchkey_api_key_last_use_timestamp_seconds", .gauge,
    "Last use of an API key, as Unix time, by caller and key; 0: not used since the start of the server.")

  package static let configReloads = MetricFamily(
    "latchkey_config_reloads_total", .counter, "Reloads of the configuration file, by outcome.")
  package static let configLoaded = MetricFamily(
    "latchkey_config_loaded_timestamp_seconds", .gauge,
    "Last time the configuration file was read without an error, as Unix time.")

  package static let queueLength = MetricFamily(
    "latchkey_queue_length", .gauge, "Queued work: for password workers, the store, provider requests and reactors.")
  static let commitSeconds = MetricFamily(
    "latchkey_store_commit_seconds", .histogram, "Duration of a write transaction, including its sync to disk.")
  static let commitChanges = MetricFamily(
    "latchkey_store_commit_changes", .histogram, "Changes per write transaction.")
  static let commitFailures = MetricFamily(
    "latchkey_store_commit_failures_total", .counter, "Failed write transactions; each change is retried separately.")
  package static let changes = MetricFamily("latchkey_store_changes_total", .counter, "Changes, by outcome.")
  static let pendingRows = MetricFamily(
    "latchkey_pending_rows", .gauge, "Pending credentials, including expired ones until the sweep.")
  static let storeReachable = MetricFamily(
    "latchkey_store_reachable", .gauge, "Whether the database is reachable: 1 or 0.")
  package static let storeConnections = MetricFamily(
    "latchkey_store_connections", .gauge, "Connections to the database that are open, and that are in use.")
  package static let storeBytes = MetricFamily(
    "latchkey_store_bytes", .gauge, "Size of the database, and of the write-ahead log of a file.")
  package static let accounts = MetricFamily(
    "latchkey_accounts", .gauge, "Accounts, counted every 10 minutes; an estimate in a large PostgreSQL database.")
  package static let throttleBlocks = MetricFamily(
    "latchkey_throttle_blocks", .gauge, "Throttle keys that are blocked, counted every minute, up to 100,000.")
  package static let statisticsRead = MetricFamily(
    "latchkey_store_statistics_timestamp_seconds", .gauge,
    "Last reading of sizes and counts from the store, as Unix time; 0 before the first.")
  static let ready = MetricFamily(
    "latchkey_ready", .gauge, "Whether the health is SERVING, as /readyz reports it: 1 or 0.")
  static let storeTrouble = MetricFamily(
    "latchkey_store_trouble", .gauge, "1 while the store is corrupt, its disk is full, or its disk returns errors.")
  package static let storeCheck = MetricFamily(
    "latchkey_store_check", .gauge, "State of the integrity check that follows the start: 1 for the current state.")
  package static let reactorsStalled = MetricFamily(
    "latchkey_reactors_stalled", .gauge, "Reactors that have not answered for 10 s; /livez then fails.")
  static let sweptRows = MetricFamily("latchkey_store_swept_rows_total", .counter, "Removed expired rows.")
  package static let masterKeyRows = MetricFamily(
    "latchkey_master_key_rows", .gauge, "Rows sealed under each master key at the last count, by key and its use.")
  package static let masterKeyMissingRows = MetricFamily(
    "latchkey_master_key_missing_rows", .gauge, "Rows sealed under a master key that this server does not have.")
  static let rowsSealedAgain = MetricFamily(
    "latchkey_rows_sealed_again_total", .counter, "Rows sealed again under the first master key.")
  package static let newestBackup = MetricFamily(
    "latchkey_backup_newest_timestamp_seconds", .gauge,
    "Request time of the newest backup, as Unix time; 0 without a backup.")
  package static let fetches = MetricFamily(
    "latchkey_fetches_total", .counter, "Requests to identity providers, by provider and result.")
  static let skippedKeys = MetricFamily(
    "latchkey_provider_keys_skipped_total", .counter,
    "Skipped entries of providers' key sets, by provider and reason.")
  package static let breakerOpen = MetricFamily(
    "latchkey_fetch_breaker_open", .gauge,
    "1 if the circuit breaker of the provider is open and requests to it fail immediately.")
  package static let breakerOpenings = MetricFamily(
    "latchkey_fetch_breaker_openings_total", .counter, "Circuit-breaker openings per provider.")

  static let hookCalls = MetricFamily(
    "latchkey_hook_calls_total", .counter, "Calls to hooks, by hook, event and outcome.")
  static let hookSeconds = MetricFamily(
    "latchkey_hook_seconds", .histogram, "Time that a call waited for a hook, by hook and event.")
  package static let hookBreakerOpen = MetricFamily(
    "latchkey_hook_breaker_open", .gauge,
    "1 if the circuit breaker of the hook is open and calls to it fail immediately.")

  package static let deliveries = MetricFamily(
    "latchkey_deliveries_total", .counter, "Attempts to send a message, by kind, transport and result.")
  static let ruleRejections = MetricFamily(
    "latchkey_rule_rejections_total", .counter,
    "Sign-ups, email addresses, phone numbers and passwords rejected by a rule, by rule.")
  static let codeRejections = MetricFamily(
    "latchkey_code_rejections_total", .counter, "Rejected codes and emailed links, by kind and by what is wrong.")
  static let throttleAlarms = MetricFamily(
    "latchkey_throttle_alarms_total", .counter, "Times a caller used half of a limit in its window, by limit.")
  static let pendingsRemoved = MetricFamily(
    "latchkey_pending_rows_removed_total", .counter,
    "Pending rows removed early because their network filled its caller's quota, by purpose.")
  static let noticesMerged = MetricFamily(
    "latchkey_notices_merged_total", .counter, "Notices not queued because an equal one was waiting.")
  static let deliveriesWaiting = MetricFamily(
    "latchkey_deliveries_waiting", .gauge, "Messages waiting to be sent.")
  static let deliveriesBuried = MetricFamily(
    "latchkey_deliveries_buried", .gauge, "Undeliverable messages kept for the operator.")
  static let deliveryOldest = MetricFamily(
    "latchkey_delivery_oldest_seconds", .gauge, "Age of the oldest waiting message; 0 without one.")

  static let failedAttempts = MetricFamily(
    "latchkey_failed_attempts_total", .counter,
    "Failed attempts to sign in, by whether they were recorded for administrators.")

  static let traceSpans = MetricFamily(
    "latchkey_trace_spans_total", .counter, "Spans of sampled calls, by result of their export.")
  package static let logLinesDropped = MetricFamily(
    "latchkey_log_lines_dropped_total", .counter, "Log lines dropped because too many waited.")
  package static let build = MetricFamily(
    "latchkey_build_info", .gauge, "Always 1; the labels identify the version and the store.")
  static let seriesRefused = MetricFamily(
    "latchkey_metric_series_refused_total", .counter, "Series of libraries that are not exported.")
  package static let residentBytes = MetricFamily("process_resident_memory_bytes", .gauge, "Resident memory.")
  package static let cpuSeconds = MetricFamily(
    "process_cpu_seconds_total", .counter, "Processor time of all threads, user and system.")
  package static let descriptors = MetricFamily("process_open_fds", .gauge, "Open file descriptors.")
  package static let descriptorsMax = MetricFamily(
    "process_max_fds", .gauge, "Maximum number of open file descriptors.")
  package static let startTime = MetricFamily(
    "process_start_time_seconds", .gauge, "Start of the server, as Unix time.")

  package static let all = [
    calls, callSeconds, callsInFlight, clientGone, failures, signIns, callerCalls, callerOutcomes, refusals,
    connections, accepted, streams, handshakes, certificateEnd, clientAuthorityEnd, certificateLoaded,
    certificateReloads, signingKeySince, apiKeyEnd, apiKeyUse, configReloads, configLoaded, queueLength, commitSeconds,
    commitChanges, commitFailures, changes, pendingRows, storeReachable, storeConnections, storeBytes, accounts,
    throttleBlocks, statisticsRead, ready, storeTrouble, storeCheck, reactorsStalled, sweptRows, masterKeyRows,
    masterKeyMissingRows, rowsSealedAgain, newestBackup, fetches, skippedKeys, breakerOpen, breakerOpenings, hookCalls,
    hookSeconds, hookBreakerOpen, deliveries, ruleRejections, codeRejections, throttleAlarms, pendingsRemoved,
    noticesMerged, deliveriesWaiting, deliveriesBuried, deliveryOldest, failedAttempts,
    traceSpans, logLinesDropped, build, seriesRefused, residentBytes, cpuSeconds, descriptors, descriptorsMax,
    startTime,
  ]
}
