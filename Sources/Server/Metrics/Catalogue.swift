/// Every metric that the server has; README.md has the same table.
enum Catalogue {
  static let calls = MetricFamily("latchkey_calls_total", .counter, "Calls that ended, by method and gRPC status.")
  static let callSeconds = MetricFamily(
    "latchkey_call_seconds", .histogram,
    "From the turn in which a unary call began to the end of the turn that answered it.")
  static let callsInFlight = MetricFamily(
    "latchkey_calls_in_flight", .gauge, "Calls that have begun and not ended, by method.")
  static let clientGone = MetricFamily(
    "latchkey_calls_client_gone_total", .counter,
    "Calls whose client had gone before it could hear what came of them.")
  static let failures = MetricFamily(
    "latchkey_failures_total", .counter, "Calls that failed, by their stable reason.")
  static let refusals = MetricFamily(
    "latchkey_refusals_total", .counter, "What was refused or made to wait by a limit, and callers who are not known.")

  static let connections = MetricFamily("latchkey_connections", .gauge, "Open connections, handshakes included.")
  static let accepted = MetricFamily(
    "latchkey_connections_accepted_total", .counter, "Connections that were taken in within the limits.")
  static let streams = MetricFamily("latchkey_streams", .gauge, "Open HTTP/2 streams.")
  static let handshakes = MetricFamily("latchkey_tls_handshakes_total", .counter, "TLS handshakes, by how they ended.")
  static let certificateEnd = MetricFamily(
    "latchkey_certificate_not_after_seconds", .gauge, "When the certificate that is served expires, as Unix time.")
  static let certificateLoaded = MetricFamily(
    "latchkey_certificate_loaded_timestamp_seconds", .gauge,
    "When the files of the certificate were last taken over, as Unix time.")
  static let certificateReloads = MetricFamily(
    "latchkey_certificate_reloads_total", .counter, "Changes of the certificate's files, by what came of them.")

  static let queueLength = MetricFamily(
    "latchkey_queue_length", .gauge, "What waits now: for a password worker, the store, a fetch, a reactor.")
  static let commitSeconds = MetricFamily(
    "latchkey_store_commit_seconds", .histogram, "One transaction of changes, from its beginning to its sync.")
  static let commitChanges = MetricFamily(
    "latchkey_store_commit_changes", .histogram, "Changes that shared one transaction.")
  static let commitFailures = MetricFamily(
    "latchkey_store_commit_failures_total", .counter, "Transactions that were lost; each change is tried again alone.")
  static let changes = MetricFamily("latchkey_store_changes_total", .counter, "Changes, by what became of them.")
  static let pendingRows = MetricFamily(
    "latchkey_pending_rows", .gauge, "Pending credentials held, expired ones until they are swept included.")
  static let storeReachable = MetricFamily(
    "latchkey_store_reachable", .gauge, "Whether the database can be reached: 1, or 0.")
  static let sweptRows = MetricFamily("latchkey_store_swept_rows_total", .counter, "Expired rows that were removed.")
  static let newestBackup = MetricFamily(
    "latchkey_backup_newest_timestamp_seconds", .gauge,
    "When the newest backup was asked for, as Unix time; 0 where there is none.")
  static let fetches = MetricFamily(
    "latchkey_fetches_total", .counter, "Requests to identity providers, by provider and by what came of them.")
  static let skippedKeys = MetricFamily(
    "latchkey_provider_keys_skipped_total", .counter,
    "Entries that a provider's key set was read without, by provider and reason.")
  static let breakerOpen = MetricFamily(
    "latchkey_fetch_breaker_open", .gauge, "1: the provider failed again and again, and fetches from it fail fast.")
  static let breakerOpenings = MetricFamily(
    "latchkey_fetch_breaker_openings_total", .counter, "How often a provider was found to fail again and again.")

  static let deliveries = MetricFamily(
    "latchkey_deliveries_total", .counter, "Attempts to send a message, by its kind, its road and what came of them.")
  static let throttleAlarms = MetricFamily(
    "latchkey_throttle_alarms_total", .counter, "Times that a caller has used half of a limit in its window, by limit.")
  static let pendingsRemoved = MetricFamily(
    "latchkey_pending_rows_removed_total", .counter,
    "Pending rows removed early, since their network filled the places of its caller, by purpose.")
  static let noticesMerged = MetricFamily(
    "latchkey_notices_merged_total", .counter, "Notices that were not queued since an equal one was waiting.")
  static let deliveriesWaiting = MetricFamily(
    "latchkey_deliveries_waiting", .gauge, "Messages that wait to be sent.")
  static let deliveriesBuried = MetricFamily(
    "latchkey_deliveries_buried", .gauge, "Messages that were given up and are kept for the operator.")
  static let deliveryOldest = MetricFamily(
    "latchkey_delivery_oldest_seconds", .gauge, "Age of the message that waits longest; 0 where none does.")

  static let logLinesDropped = MetricFamily(
    "latchkey_log_lines_dropped_total", .counter, "Lines of the log that were dropped, since too many waited.")
  static let build = MetricFamily("latchkey_build_info", .gauge, "1; the labels say what runs.")
  static let seriesRefused = MetricFamily(
    "latchkey_metric_series_refused_total", .counter, "Series that a library wanted and that are not served.")
  static let residentBytes = MetricFamily("process_resident_memory_bytes", .gauge, "Resident memory.")
  static let cpuSeconds = MetricFamily(
    "process_cpu_seconds_total", .counter, "Processor time of all threads, user and system.")
  static let descriptors = MetricFamily("process_open_fds", .gauge, "Open file descriptors.")
  static let descriptorsMax = MetricFamily("process_max_fds", .gauge, "File descriptors that may be open.")
  static let startTime = MetricFamily("process_start_time_seconds", .gauge, "When the server started, as Unix time.")

  static let all = [
    calls, callSeconds, callsInFlight, clientGone, failures, refusals, connections, accepted, streams, handshakes,
    certificateEnd, certificateLoaded, certificateReloads, queueLength, commitSeconds, commitChanges, commitFailures,
    changes, pendingRows, storeReachable, sweptRows, newestBackup, fetches, skippedKeys, breakerOpen, breakerOpenings,
    deliveries, throttleAlarms, pendingsRemoved, noticesMerged, deliveriesWaiting, deliveriesBuried, deliveryOldest,
    logLinesDropped, build, seriesRefused, residentBytes, cpuSeconds, descriptors, descriptorsMax, startTime,
  ]
}
