internal import Fetch
internal import HTTP2
internal import Services

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
        try group.text("ca_file", "", "PEM authorities for fetches from providers; empty: those of the system"))
      fetchAllowsPrivateAddresses = try group.flag(
        "allow_private_addresses", false,
        "let providers be on loopback and private networks, at the hosts that their settings name")
      limits.fetch.totalTimeMillis = try group.integer(
        "total_millis", 5_000, 100...5_000, "one fetch, waiting and name resolution included")
      limits.fetch.perProviderMax = try group.integer(
        "per_provider_max", 16, 1...1_000, "fetches from one provider at once")
      limits.fetch.waitingPerProviderMax = try group.integer(
        "waiting_per_provider_max", 64, 0...10_000, "fetches that may wait for one of those to end")
      limits.fetch.failuresMax = try group.integer(
        "failures_max", 5, 1...1_000, "failures in a row after which a provider is left alone")
      limits.fetch.pauseMillis = try group.integer(
        "pause_millis", 5_000, 10...600_000, "for how long it is, before one fetch tries it again")
    }
  }

  private mutating func readConnectionLimits(_ group: inout SettingsReader) throws(ConfigurationError) {
    limits.connectionsMax = try group.integer("connections_max", 16_384, 1...1_000_000, "connections in all")
    limits.connectionsPerAddressMax = try group.integer(
      "connections_per_address_max", 256, 1...1_000_000, "connections from one address (IPv6: one /64 network)")
    limits.offencesPerAddressMax = try group.integer(
      "offences_per_address_max", 20, 0...1_000_000,
      "connections of one address that end for abuse in a minute before none is taken from it; high behind a balancer")
    limits.handshakeMillis = Int64(
      try group.integer("handshake_millis", 10_000, 10...60_000, "to complete TLS"))
    limits.session.streamsMax = try group.integer(
      "streams_per_connection_max", 100, 1...10_000, "calls at once on one connection")
    limits.session.budget.unfinishedResets.count = try group.integer(
      "resets_max", 100, 1...1_000_000, "calls that one connection may cancel within 10 seconds")
    limits.session.budget.unfinishedResetsPercent = try group.integer(
      "resets_percent_max", 50, 0...100, "percent of its calls that an identified caller may cancel beyond resets_max")
  }

  private mutating func readRequestLimits(_ group: inout SettingsReader) throws(ConfigurationError) {
    limits.requestMillis = Int64(
      try group.integer("request_millis", 10_000, 10...600_000, "from a unary request's head to its end"))
    limits.messageBytesMax = try group.integer(
      "message_bytes_max", 65_536, 1_024...4_194_304, "one request message, in bytes")
    // A message of the limit can come in parts, and another beside it.
    limits.heldRequestBytesMax = max(limits.heldRequestBytesMax, 2 * limits.messageBytesMax)
    limits.session.headerListBytesMax = try group.integer(
      "header_list_bytes_max", 16_384, 4_096...65_536, "one request's header list, in bytes as HTTP/2 counts them")
    limits.session.untaken.stillMillis = try group.seconds(
      "answer_still_seconds", 30, 1...3_600, "an answer waits for its client's window without a byte taken")
    limits.session.untaken.wholeMillis = try group.seconds(
      "answer_seconds", 60, 1...3_600, "an answer waits for its client's window in all")
    limits.socket.stillMillis = try group.seconds(
      "write_still_seconds", 20, 1...3_600, "a client's socket takes nothing of what waits")
    limits.socket.wholeMillis = limits.session.untaken.wholeMillis
  }

  private mutating func readLifeLimits(_ group: inout SettingsReader) throws(ConfigurationError) {
    limits.life.idleMillis = try group.seconds("idle_seconds", 900, 1...86_400, "a connection without calls is kept")
    limits.life.ageMillis = try group.seconds("age_seconds", 3_600, 1...604_800, "any connection is kept, ± 10 %")
    limits.life.keepaliveMillis = try group.seconds(
      "keepalive_seconds", 300, 1...86_400, "a silent connection is left alone before it is pinged")
    limits.life.keepaliveTimeoutMillis = try group.seconds(
      "keepalive_timeout_seconds", 20, 1...3_600, "that ping may stay unanswered")
    limits.watch.watchersMax = try group.integer("watchers_max", 256, 1...10_000, "calls that watch events, in all")
    limits.watch.watchersPerCallerMax = try group.integer(
      "watchers_per_caller_max", 16, 1...10_000, "calls of one caller that watch events")
    limits.watch.heartbeatMillis = try group.seconds(
      "watch_heartbeat_seconds", 15, 1...3_600, "a watcher hears at least so often where to go on")
    limits.drainMillis = try group.seconds("drain_seconds", 25, 1...3_600, "for calls in flight after SIGTERM")
    limits.life.graceMillis = limits.drainMillis
    limits.storeGoneMillis = try group.seconds(
      "store_gone_seconds", 5, 1...3_600, "that the database may be gone before health says NOT_SERVING")
  }
}
