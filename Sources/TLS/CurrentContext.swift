internal import Synchronization

/// State of the server's certificate, for the log and the metrics.
package struct CertificateStatus: Hashable, Sendable {
  package var certificate: LeafCertificate
  /// Earliest expiry of the authorities of client certificates, in milliseconds since 1970; nil without them.
  package var clientAuthorityNotAfterMillis: Int64?
  /// When the files were last loaded, in milliseconds since 1970.
  package var loadedMillis: Int64
  /// Number of loads, including the one at the start.
  package var loads = 1
  /// Number of file changes that could not be loaded.
  package var failures = 0
}

/// The context for new connections. When its files change, a new context replaces it. Open connections keep theirs.
package final class CurrentContext: Sendable {
  /// The result of a check for changed files.
  package enum Look: Sendable {
    case unchanged
    case loaded(CertificateStatus)
    /// The files are unusable, so the earlier context stays. Reported once per change.
    case refused(TLSError)
  }

  private struct Loaded {
    var marks: FileMarks
    var fault: TLSError?
    var status: CertificateStatus
  }

  private let settings: TLSSettings
  private let ticketKeys: TicketKeys
  private let served: Mutex<TLSContext>
  /// Locked while files are read. Accepting a connection does not wait for this lock.
  private let loaded: Mutex<Loaded>

  package init(_ settings: TLSSettings, wallMillis: Int64, monotonicMillis: Int64) throws(TLSError) {
    self.settings = settings
    ticketKeys = try TicketKeys(nowMillis: monotonicMillis)
    // Read before the files, so that the next check detects changes made while they are read.
    let marks = FileMarks(settings)
    let context = try TLSContext(settings, ticketKeys: ticketKeys, wallMillis: wallMillis)
    served = Mutex(context)
    let status = CertificateStatus(
      certificate: context.certificate, clientAuthorityNotAfterMillis: context.clientAuthorityNotAfterMillis,
      loadedMillis: wallMillis)
    loaded = Mutex(Loaded(marks: marks, fault: nil, status: status))
  }

  package var context: TLSContext { served.withLock { $0 } }

  package var status: CertificateStatus { loaded.withLock(\.status) }

  /// Loads the files if they have changed since the last check, or unconditionally if `demanded`.
  package func look(demanded: Bool = false, wallMillis: Int64, monotonicMillis: Int64) -> Look {
    ticketKeys.rotate(ifOlderThan: settings.limits.ticketKeyMillis, nowMillis: monotonicMillis)
    return loaded.withLock { loaded in
      let marks = FileMarks(settings)
      let isChanged = demanded || marks != loaded.marks
      // Retry after a failure: a certificate can become valid, or a disk readable, without a change of the file.
      guard isChanged || loaded.fault != nil else { return .unchanged }
      loaded.marks = marks
      do throws(TLSError) {
        let context = try TLSContext(settings, ticketKeys: ticketKeys, wallMillis: wallMillis)
        served.withLock { $0 = context }
        loaded.fault = nil
        loaded.status.certificate = context.certificate
        loaded.status.clientAuthorityNotAfterMillis = context.clientAuthorityNotAfterMillis
        loaded.status.loadedMillis = wallMillis
        loaded.status.loads += 1
        return .loaded(loaded.status)
      } catch {
        guard isChanged || error != loaded.fault else { return .unchanged }
        loaded.fault = error
        loaded.status.failures += 1
        return .refused(error)
      }
    }
  }
}
