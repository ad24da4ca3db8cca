internal import COpenSSL
internal import CP11Kit

/// A secret that only a key in a PKCS#11 module can decrypt (RSA-OAEP with SHA-1, RFC 8017 7.1).
///
/// The private key stays in the module, such as a hardware security module or a smart card. The URI (RFC 7512) names
/// the key, with `module-path` and `pin-source`.
package struct WrappedKey: Sendable {
  private let uri: String
  private let ciphertext: [UInt8]
  /// The path of the file with the PIN.
  package let pinSource: String

  package struct Fault: Error {
    /// The reason; the text continues "it ".
    package let why: String
  }

  package init(uri: String, ciphertext: [UInt8]) throws(Fault) {
    var source = [CChar](repeating: 0, count: 4_096)
    switch unsafe lk_p11_pin_source(uri, &source, source.count) {
    case LK_P11_DONE: break
    case LK_P11_PATH: throw Fault(why: "names a key without module-path and pin-source")
    default: throw Fault(why: "has no valid pkcs11: URI, or one with an unknown attribute")
    }
    self.uri = uri
    self.ciphertext = ciphertext
    pinSource = String(decoding: source.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Loads the module, decrypts the secret, and finalizes the module. Blocks.
  package func unwrapped(pin: [UInt8]) throws(Fault) -> [UInt8] {
    var plain = [UInt8](repeating: 0, count: Int(LK_P11_PLAIN_BYTES))
    var count = plain.count
    defer { unsafe OPENSSL_cleanse(&plain, plain.count) }
    let failure = unsafe lk_p11_decrypt(
      uri, pin.map { CChar(bitPattern: $0) } + [0], pin.count, ciphertext, ciphertext.count, &plain, &count)
    let code = "PKCS#11 error 0x" + String(failure.code, radix: 16)
    switch failure.step {
    case LK_P11_DONE: return Array(plain.prefix(count))
    case LK_P11_TOKEN: throw Fault(why: "matches \(failure.code) tokens, not one")
    case LK_P11_KEY: throw Fault(why: "matches \(failure.code > 1 ? "several" : "no") private keys, not one")
    case LK_P11_LOGIN: throw Fault(why: "names a token that rejects the PIN or the session (\(code))")
    case LK_P11_DECRYPT: throw Fault(why: "has a ciphertext that the key does not decrypt (\(code))")
    default: throw Fault(why: "names a module that cannot be loaded or initialized (\(code))")
    }
  }
}
