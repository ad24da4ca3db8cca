internal import HTTP2
internal import HTTPClient
internal import Services
internal import Transport

extension Settings {
  mutating func readLimits(_ reader: inout SettingsReader) throws(ConfigurationError) {
    try reader.group("limits") { group throws(ConfigurationError) in
      try readConnectionLimits(&group)
      try readRequestLimits(&group)
      try readLifeLimits(&group)
    }
  }

  mutating func readFetch(
    _ reader: inout SettingsReader, _ path: (String) -> String
  ) throws(ConfigurationError) {
    try reader.group("fetch") { group throws(ConfigurationError) in
      fetchAuthorityFile = path(
        try group.text("ca_file", "", "PEM CA certificates for requests to providers; empty: the system's"))
      fetchAllowsPrivateAddresses = try group.flag(
        "allow_private_addresses", false,
        "allow providers on loopback and private networks, at the hosts in their settings")
      limits.fetch.totalTimeMillis = try group.integer(
        "total_millis", 5_000, 100...5_000,
        "timeout of one request to a provider, including queueing and name resolution")
      limits.fetch.perProviderMax = try group.integer(
        "per_provider_max", 16, 1...1_000, "maximum number of concurrent requests to one provider")
      limits.fetch.waitingPerProviderMax = try group.integer(
        "waiting_per_provider_max", 64, 0...10_000, "maximum number of queued requests to one provider")
      limits.fetch.failuresMax = try group.integer(
        "failures_max", 5, 1...1_000, "consecutive failures after which requests to a provider are paused")
      limits.fetch.pauseMillis = try group.integer(
        "pause_millis", 5_000, 10...600_000, "duration of the pause, before one request tries the provider again")
    }
  }

  private mutating func readConnectionLimits(_ group: inout SettingsReader) throws(ConfigurationError) {
    limits.connectionsMax = try group.integer("connections_max", 16_384, 1...1_000_000, "maximum number of connections")
    limits.connectionsPerAddressMax = try group.integer(
      "connections_per_address_max", 256, 1...1_000_000,
      "maximum number of connections from one IP address (IPv6: one /64 network)")
    limits.offencesPerAddressMax = try group.integer(
      "offences_per_address_max", 20, 0...1_000_000,
      "connections of one IP address that end for abuse in a minute before it is blocked; set high behind a balancer")
    limits.handshakeMillis = Int64(
      try group.integer("handshake_millis", 10_000, 10...60_000, "timeout of a TLS handshake"))
    limits.session.streamsMax = try group.integer(
      "streams_per_connection_max", 100, 1...10_000, "maximum number of concurrent calls on one connection")
    limits.session.budget.unfinishedResets.count = try group.integer(
      "resets_max", 100, 1...1_000_000, "calls that one connection may cancel in 10 seconds")
    limits.session.budget.unfinishedResetsPercent = try group.integer(
      "resets_percent_max", 50, 0...100,
      "percentage of its calls that an identified caller may cancel beyond resets_max")
  }

  private mutating func readRequestLimits(_ group: inout SettingsReader) throws(ConfigurationError) {
    limits.requestMillis = Int64(
      try group.integer(
        "request_millis", 10_000, 10...600_000, "maximum time from the headers of a unary request to its end"))
    limits.messageBytesMax = try group.integer(
      "message_bytes_max", 65_536, 1_024...4_194_304, "maximum size of a request message, in bytes")
    // One connection may send two incomplete messages of maximum size.
    limits.heldRequestBytesMax = max(limits.heldRequestBytesMax, 2 * limits.messageBytesMax)
    limits.session.headerListBytesMax = try group.integer(
      "header_list_bytes_max", 16_384, 4_096...65_536,
      "maximum size of a request's header list, in bytes as HTTP/2 counts them")
    limits.session.untaken.stillMillis = try group.seconds(
      "answer_still_seconds", 30, 1...3_600,
      "maximum time a response waits for the client's flow-control window without progress")
    limits.session.untaken.wholeMillis = try group.seconds(
      "answer_seconds", 60, 1...3_600, "maximum total time a response waits for the client's flow-control window")
    limits.socket.stillMillis = try group.seconds(
      "write_still_seconds", 20, 1...3_600, "maximum time a client's socket accepts no pending output")
    limits.socket.wholeMillis = limits.session.untaken.wholeMillis
  }

  private mutating func readLifeLimits(_ group: inout SettingsReader) throws(ConfigurationError) {
    limits.life.idleMillis = try group.seconds(
      "idle_seconds", 900, 1...86_400, "maximum time a connection stays open without calls")
    limits.life.ageMillis = try group.seconds("age_seconds", 3_600, 1...604_800, "maximum age of a connection, ± 10 %")
    limits.life.keepaliveMillis = try group.seconds(
      "keepalive_seconds", 300, 1...86_400, "time without input before the server pings a connection")
    limits.life.keepaliveTimeoutMillis = try group.seconds(
      "keepalive_timeout_seconds", 20, 1...3_600, "maximum time to answer that ping")
    limits.watch.watchersMax = try group.integer(
      "watchers_max", 256, 1...10_000, "maximum number of calls that watch events")
    limits.watch.watchersPerCallerMax = try group.integer(
      "watchers_per_caller_max", 16, 1...10_000, "maximum number of calls that watch events for one caller")
    limits.watch.heartbeatMillis = try group.seconds(
      "watch_heartbeat_seconds", 15, 1...3_600, "maximum time between heartbeats, which state where to resume a watch")
    limits.lameDuckMillis = try group.seconds(
      "lame_duck_seconds", 0, 0...600,
      "time after SIGTERM for which health reports NOT_SERVING while connections and calls are still accepted")
    limits.drainMillis = try group.seconds(
      "drain_seconds", 25, 1...3_600, "maximum time for calls in flight after SIGTERM")
    limits.life.graceMillis = limits.drainMillis
    limits.storeGoneMillis = try group.seconds(
      "store_gone_seconds", 5, 1...3_600, "how long the database may be unreachable before health reports NOT_SERVING")
  }
}
