/// Environment variables that look like settings but are not.
enum Variables {
  /// Variables of the `latchkey` command, and of the scripts and tests of this repository. They may share the server's
  /// environment.
  private static let ofOthers: Set<String> = [
    "ACTOR", "API_KEY", "API_KEY_FILE", "CA", "CERT", "HOME", "ID_TOKEN", "KEY", "PASSWORD", "PROFILE", "SERVER",
    "SESSION_FILE", "FAULTS", "FAULTS_STEP", "FUZZ", "FUZZ_SEEDS", "FUZZ_TARGET", "IMPORT_MEMORY_COST", "IMPORT_USERS",
    "LOAD", "PEER", "POSTGRES", "RACE_ROUNDS", "SESSION_MEMORY", "TEST_STORE", "TRACE",
  ]

  /// Whether Kubernetes set the variable. It sets some for every service that a pod can access: for a service
  /// latchkey-metrics, LATCHKEY_METRICS_PORT is tcp://….
  static func isOfKubernetes(_ name: String, _ value: String) -> Bool {
    if name.hasSuffix("_PORT"), ["tcp://", "udp://", "sctp://"].contains(where: value.hasPrefix) { return true }
    return name.contains(/_SERVICE_(HOST|PORT)(_[A-Z0-9_]+)?$/)
      || name.contains(/_PORT_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?$/)
  }

  /// Returns unknown variables, sorted.
  /// - Parameter asked: variables that a setting has or names.
  static func unknown(_ names: some Sequence<String>, asked: Set<String>) -> [String] {
    names.filter { !asked.contains($0) && !ofOthers.contains(String($0.dropFirst("LATCHKEY_".count))) }.sorted()
  }
}
