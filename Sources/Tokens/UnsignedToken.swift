import Crypto
import Encodings

/// All of a token but its signature, and whose that is to be.
package struct UnsignedToken: Sendable {
  let key: SigningKey
  let input: [UInt8]

  /// Whether it costs less among many (`PrivateKey.sign`).
  package var gainsByCompany: Bool { key.algorithm == .es256 }

  /// A compact JWS, made on the calling thread. With an RS256 key of 2048 bits that takes about ten times as long as
  /// with the others.
  package func signed() throws(TokenError) -> String {
    do throws(CryptoError) {
      return with(try key.privateKey.sign(input, key.algorithm))
    } catch {
      throw .signingFailed
    }
  }

  /// Each of them as `signed()` makes it, those of one key together.
  package static func signed(_ tokens: [UnsignedToken]) -> [Result<String, TokenError>] {
    var results: [Result<String, TokenError>] = []
    results.reserveCapacity(tokens.count)
    var rest = tokens[...]
    while let key = rest.first?.key {
      let group = rest.prefix { $0.key.privateKey === key.privateKey }
      rest = rest.dropFirst(group.count)
      do throws(CryptoError) {
        let signatures = try key.privateKey.sign(group.map(\.input), key.algorithm)
        for (token, signature) in zip(group, signatures) { results.append(.success(token.with(signature))) }
      } catch {
        // One that cannot be signed must not take the others' answers from them.
        for token in group { results.append(Result { () throws(TokenError) in try token.signed() }) }
      }
    }
    return results
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
