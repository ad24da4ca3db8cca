import HTTPClient
import Store
import Tokens

extension OIDCClient {
  /// Reads the profile of the user in addition to the ID token; nil if the settings do not ask for it. A profile of
  /// another subject is another user's (OpenID Connect Core 5.3.2, check 51).
  func profile(
    of verified: Verified, from url: String, _ accessToken: String, _ flow: CodeFlow, at now: Timestamp
  ) async throws -> Document? {
    let isAsked =
      switch settings.profileUse {
      case .always: true
      case .missing: !ProfileClaims.isComplete(verified.claims.all, of: settings)
      case .never: false
      }
    guard isAsked, !url.isEmpty else { return nil }
    let answer = try await flow.calls.answer(url, accessToken: accessToken)
    let profile =
      answer.status == 200 && answer.isJWT
      ? try await signed(answer.bytes, beside: verified.claims, at: now)
          : try ProviderCalls.document(answer, settings.claims)
    guard let subject = profile.value["sub"]?.string, subject.utf8.elementsEqual(verified.claims.subject.utf8) else {
      throw ProviderRefusal.invalid(why: "the profile belongs to another subject")
    }
    return profile
  }

  /// Verifies the response to a client that is registered for signed responses.
  private func signed(
    _ bytes: [UInt8], beside idToken: ProviderClaims, at now: Timestamp
  ) async throws -> Document {
    let token: JWS
    do throws(TokenError) { token = try JWS(String(decoding: bytes, as: UTF8.self)) } catch {
      throw ProviderRefusal.invalid(why: "userinfo: \(error)")
    }
    let claims = try await fetchingKeys(at: now) { () throws(ProviderRefusal) in
      try withKeysNow(at: now) { keys throws(TokenRefusal) in
        try rules.verifyUserinfo(token, keys: keys, beside: idToken)
      } issuedAt: {
        // The provider itself has just sent it.
        now.seconds
      }
    }
    return Document(value: claims, bytes: token.payload)
  }
}

extension FetchedBody {
  /// Whether the content type is that of a JWT (RFC 7519, 10.3.1), with or without parameters.
  fileprivate var isJWT: Bool {
    contentType.prefix { $0 != ";" && $0 != " " }.lowercased() == "application/jwt"
  }
}
