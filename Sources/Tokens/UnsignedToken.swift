import Crypto
import Encodings

/// All of a token but its signature, and whose that is to be.
package struct UnsignedToken: Sendable {
  let key: SigningKey
  let input: [UInt8]

  /// A compact JWS, made on the calling thread. With an RS256 key of 2048 bits that takes about ten times as long as
  /// with the others.
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
