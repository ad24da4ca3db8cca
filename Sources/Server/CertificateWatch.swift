internal import Encodings
internal import Reactor
internal import TLS

/// Looks whether the certificate, its key or the authorities of clients have changed, and says what came of it.
struct CertificateWatch: Sendable {
  let tls: CurrentContext
  /// Further contexts of the same files.
  var others: [CurrentContext] = []
  let log: Log

  /// Ends when it is cancelled.
  func start(everyMillis: Int64) -> Task<Void, Never> {
    Task.detached {
      while true {
        do { try await Task.sleep(nanoseconds: UInt64(everyMillis) * 1_000_000) } catch { return }
        look()
      }
    }
  }

  /// - Parameter demanded: somebody asked for it, so the files are read even where they look the same.
  func look(demanded: Bool = false) {
    // They say nothing of their own: what is the matter with the files is the matter with all contexts.
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
