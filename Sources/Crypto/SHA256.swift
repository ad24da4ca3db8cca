internal import COpenSSL

/// SHA-256 of bytes that arrive in parts, such as those of a file.
@safe package final class SHA256 {
  private let context: OpaquePointer

  package init() {
    guard let context = unsafe lk_digest_begin(Algorithms.sha256) else {
      preconditionFailure("no digest: no memory for it")
    }
    unsafe self.context = unsafe context
  }

  deinit { unsafe EVP_MD_CTX_free(context) }

  package func take(_ bytes: [UInt8]) {
    let failure = unsafe lk_digest_take(context, bytes, bytes.count)
    precondition(failure == 0, "no digest: OpenSSL error \(failure)")
  }

  /// Returns the digest. Call it once, after the last part.
  package func value() -> [UInt8] {
    var out = [UInt8](repeating: 0, count: HashFunction.sha256.byteCount)
    let failure = unsafe lk_digest_end(context, &out)
    precondition(failure == 0, "no digest: OpenSSL error \(failure)")
    return out
  }
}
