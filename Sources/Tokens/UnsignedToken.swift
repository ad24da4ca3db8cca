import Crypto
import Encodings

/// A token without its signature, and the key that will sign it.
package struct UnsignedToken: Sendable {
  let key: SigningKey
  let input: [UInt8]

  /// Signs on the calling thread and returns a compact JWS. A 2048-bit RS256 key takes about ten times as long as the
  /// other kinds.
  package func signed() throws(TokenError) -> String {
    do throws(CryptoError) {
      return with(try key.privateKey.sign(input, key.algorithm))
    } catch {
      throw .signingFailed
    }
  }

  private func with(_ signature: [UInt8]) -> String {
    var token: [UInt8] = []
    token.reserveCapacity(input.count + 1 + (signature.count * 4 + 2) / 3)
    token.append(contentsOf: input)
    token.append(UInt8(ascii: "."))
    Base64URL.append(signature, to: &token)
    return String(decoding: token, as: UTF8.self)
  }
}
