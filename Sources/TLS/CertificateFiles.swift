internal import COpenSSL

/// The content of a PEM file. `deinit` erases it from memory.
@safe struct PEMFile: ~Copyable {
  let content: lk_tls_file

  init(_ path: String, of setting: String, _ limits: TLSLimits) throws(TLSError) {
    unsafe content = unsafe lk_tls_read_whole(path, Int32(clamping: limits.fileBytesMax))
    switch unsafe content.error {
    case 0: return
    case EFBIG: throw TLSError(setting: setting, why: "\(path) has more than \(limits.fileBytesMax) bytes")
    case EINVAL: throw TLSError(setting: setting, why: "\(path) is not a regular file")
    case let code:
      throw unsafe TLSError(
        setting: setting, why: "\(path) cannot be read: \(String(cString: strerror(code)))",
        isPassing: [EMFILE, ENFILE, ENOMEM].contains(code))
    }
  }

  deinit { unsafe lk_tls_forget(content) }
}

/// Identifies the files of a configuration by device, inode, size and change time. Detects a rewritten or renamed file,
/// and a changed symbolic link in the path.
struct FileMarks: Hashable {
  private var numbers: [Int64] = []

  init(_ settings: TLSSettings) {
    for path in [settings.certificateFile, settings.keyFile, settings.clientAuthorityFile] where !path.isEmpty {
      let mark = unsafe lk_tls_mark_of(path)
      numbers += [
        Int64(bitPattern: mark.device), Int64(bitPattern: mark.inode), mark.bytes, mark.changed_seconds,
        mark.changed_nanos,
      ]
    }
  }
}

/// Facts about the server's certificate for the log and the metrics.
package struct LeafCertificate: Hashable, Sendable {
  package var serial: String
  package var notAfterMillis: Int64

  init(of context: OpaquePointer, notAfterSeconds: Int64) {
    serial = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      unsafe lk_tls_serial(context, text.baseAddress, Int32(text.count))
      return unsafe String(cString: text.baseAddress!)
    }
    notAfterMillis = notAfterSeconds * 1_000
  }
}

extension TLSSettings {
  /// Converts a verdict on the certificate and key into an error. Returns nil if they are valid. `why` is the text of
  /// libssl.
  func refusal(_ verdict: lk_tls_verdict, _ why: String) -> TLSError? {
    let (certificate, key) = ("tls.certificate_file", "tls.key_file")
    switch UInt32(verdict.fault) {
    case LK_TLS_SOUND.rawValue: return nil
    case LK_TLS_NOT_OF_A_SERVER.rawValue:
      return TLSError(setting: certificate, why: "\(certificateFile) does not start with a server certificate")
    case LK_TLS_OUT_OF_ORDER.rawValue:
      return TLSError(
        setting: certificate,
        why: "\(certificateFile): certificate \(verdict.at) was not signed by the one after it; the leaf comes first")
    case LK_TLS_EXPIRED.rawValue:
      let moment = date(verdict.not_after)
      return TLSError(setting: certificate, why: "\(certificateFile): certificate \(verdict.at) expired at \(moment)")
    case LK_TLS_NOT_YET_VALID.rawValue:
      let moment = date(verdict.not_before)
      return TLSError(
        setting: certificate, why: "\(certificateFile): certificate \(verdict.at) is not valid before \(moment)",
        isPassing: true)
    case LK_TLS_ENCRYPTED_KEY.rawValue:
      return TLSError(setting: key, why: "\(keyFile) is encrypted; use a key without a passphrase")
    case LK_TLS_KEY_OF_ANOTHER.rawValue:
      return TLSError(setting: key, why: "the key does not belong to the certificate")
    case LK_TLS_UNREADABLE_KEY.rawValue: return TLSError(setting: key, why: "\(keyFile) cannot be used: \(why)")
    default: return TLSError(setting: certificate, why: "\(certificateFile) cannot be used: \(why)")
    }
  }

  private func date(_ seconds: Int64) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { text in
      unsafe lk_tls_date(seconds, text.baseAddress, text.count)
      return unsafe String(cString: text.baseAddress!)
    }
  }
}
