internal import Synchronization

/// What is known of the certificate that is served, for the log and the metrics.
package struct CertificateStatus: Hashable, Sendable {
  package var certificate: LeafCertificate
  /// When its files were last taken over, as Unix time.
  package var loadedMillis: Int64
  /// The one of the start is the first.
  package var loads = 1
  /// Changes of the files that could not be taken over.
  package var failures = 0
}

/// The context for connections that begin now. When the files behind it change, another takes its place; connections
/// that are open keep theirs.
package final class CurrentContext: Sendable {
  /// What a look at the files came to.
  package enum Look: Sendable {
    case unchanged
    case loaded(CertificateStatus)
    /// They cannot be used, so what was loaded before stays. Said once a change.
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
  /// Held while files are read, which nobody who accepts a connection waits for.
  private let loaded: Mutex<Loaded>

  package init(_ settings: TLSSettings, wallMillis: Int64, monotonicMillis: Int64) throws(TLSError) {
    self.settings = settings
    ticketKeys = try TicketKeys(nowMillis: monotonicMillis)
    // Before the files are read: what changes meanwhile is then read again.
    let marks = FileMarks(settings)
    let context = try TLSContext(settings, ticketKeys: ticketKeys, wallMillis: wallMillis)
    served = Mutex(context)
    let status = CertificateStatus(certificate: context.certificate, loadedMillis: wallMillis)
    loaded = Mutex(Loaded(marks: marks, fault: nil, status: status))
  }

  package var context: TLSContext { served.withLock { $0 } }

  package var status: CertificateStatus { loaded.withLock(\.status) }

  /// Loads the files if they are not those of the last look, or in any case where it is `demanded`.
  package func look(demanded: Bool = false, wallMillis: Int64, monotonicMillis: Int64) -> Look {
    ticketKeys.rotate(ifOlderThan: settings.limits.ticketKeyMillis, nowMillis: monotonicMillis)
    return loaded.withLock { loaded in
      let marks = FileMarks(settings)
      let isChanged = demanded || marks != loaded.marks
      // What failed is tried again: a certificate becomes valid, or a disk readable, without a change of the file.
      guard isChanged || loaded.fault != nil else { return .unchanged }
      loaded.marks = marks
      do throws(TLSError) {
        let context = try TLSContext(settings, ticketKeys: ticketKeys, wallMillis: wallMillis)
        served.withLock { $0 = context }
        loaded.fault = nil
        loaded.status.certificate = context.certificate
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
