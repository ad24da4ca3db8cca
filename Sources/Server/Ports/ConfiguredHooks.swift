internal import Configuration
internal import Hooks
internal import Identity
internal import Observability

extension Settings {
  /// Creates the clients of the hooks.
  /// - Parameter kept: clients of the previous version whose settings stay the same.
  func hookClients(_ log: Log, kept: [HookClient]) throws -> [HookClient] {
    try hooks.map { hook in
      if let client = kept.first(where: { $0.name == hook.name }) { return client }
      return try HookClient(
        HookClient.Target(
          name: hook.name, host: hook.address.host, port: hook.address.port, isPlain: hook.address.isPlain,
          authorityFile: hook.authorityFile, certificateFile: hook.certificateFile, keyFile: hook.keyFile,
          timeoutMillis: hook.timeoutMillis, concurrentMax: hook.concurrentMax),
        log)
    }
  }

  /// Returns the hooks as the domain asks them; nil without hooks, so that calls cost nothing then.
  func hookSet(_ clients: [HookClient], _ base: Base) -> (any Identity.Hooks)? {
    guard !hooks.isEmpty else { return nil }
    for hook in hooks { base.metrics.hooks.add(hook.name, hook.events) }
    let rules = zip(hooks, clients).map { hook, client in
      HookSet.Rule(
        client, events: hook.events, callers: hook.callers, allowsOnFailure: hook.onFailure == .allow)
    }
    return HookSet(rules, base.metrics.hooks, tracer: base.tracer)
  }
}
