internal import Encodings
internal import Observability
internal import Reactor
internal import TLS

/// Periodic check for changes of the certificate, its key and the client CA files. Logs the result.
struct CertificateWatch: Sendable {
  let tls: CurrentContext
  /// Further contexts that use the same files.
  var others: [CurrentContext] = []
  let log: Log

  /// Starts the periodic check; cancel the task to end it.
  func start(everyMillis: Int64) -> Task<Void, Never> {
    Task.detached {
      while true {
        do { try await Task.sleep(nanoseconds: UInt64(everyMillis) * 1_000_000) } catch { return }
        // Without a thread, the next check tries again.
        try? await onThread(named: "certificates") { look() }
      }
    }
  }

  /// Checks the files and loads them if they changed.
  /// - Parameter demanded: the operator requested it, so the files are read even if they appear unchanged.
  func look(demanded: Bool = false) {
    // The other contexts use the same files, so their results are not logged.
    for other in others {
      _ = other.look(demanded: demanded, wallMillis: wallMillis(), monotonicMillis: monotonicMillis())
    }
    switch tls.look(demanded: demanded, wallMillis: wallMillis(), monotonicMillis: monotonicMillis()) {
    case .unchanged: break
    case .loaded(let status): log.info("certificate loaded", CertificateWatch.fields(status.certificate))
    case .refused(let error):
      let kept = CertificateWatch.fields(tls.status.certificate)
      log.error("certificate refused", kept.merging(["setting": error.setting, "why": error.why]) { $1 })
    }
  }

  static func fields(_ certificate: LeafCertificate) -> [String: String] {
    ["serial": certificate.serial, "not_after": rfc3339(certificate.notAfterMillis)]
  }
}
