import Delivery
import Providers
import Tokens

extension FuzzTarget {
  /// The answer of a provider's token endpoint: a status number, then the body. The result is tokens that are valid in
  /// a header, or an error. A token with a non-empty error is an error.
  static let tokenAnswer = FuzzTarget("token_answer", seeds: tokenAnswerSeeds) { input in
    var reader = InputReader(input)
    let statuses = [200, 400, 401, 403, 404, 429, 500, 503]
    let status = statuses[Int(reader.byte()) % statuses.count]
    let body = reader.rest()
    guard let answer = try? TokenAnswer.read(status: status, body) else { return }
    law(status == 200, "tokens in an answer of status \(status)")
    guard let document = try? JSONValue.parseLeniently(body, byteCountMax: body.count, decisive: ["error"]) else {
      return law(false, "tokens in a body that is not JSON")
    }
    let none: [JSONValue?] = [nil, .null, .bool(false), .string(""), .int(0), .array([]), .object([])]
    law(none.contains(document["error"]), "tokens with an error")
    law(!answer.own.accessToken.isEmpty, "no access token")
    for token in [answer.own.accessToken, answer.own.refreshToken, answer.own.idToken] {
      law(token.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a token that is two header lines")
      law(token.utf8.count <= JWS.byteCountMax, "a token of \(token.utf8.count) bytes")
    }
    law(answer.own.grantedScopes.count <= TokenAnswer.scopesMax, "\(answer.own.grantedScopes.count) scopes")
    law((answer.own.expiresInSeconds ?? 0) >= 0, "tokens that have expired")
  }

  /// The parameters of a redirect, one in each line: a code of the flow's own state and provider, or an error.
  static let redirect = FuzzTarget("redirect", seeds: redirectSeeds) { input in
    var reader = InputReader(input)
    let mustSay = reader.byte() & 1 == 1
    var parameters: [String: String] = [:]
    for line in reader.rest().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let parts = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      parameters[String(decoding: parts[0], as: UTF8.self)] = String(decoding: parts[1], as: UTF8.self)
    }
    let flow = FlowState(redirectURI: "https://app.example", state: "state-1", nonce: "n", codeVerifier: "v")
    let sender = AuthorizationResponse.Sender(issuer: "https://idp.example", mustSay: mustSay)
    do throws(ProviderRefusal) {
      let code = try AuthorizationResponse.code(in: Callback(parameters), of: flow, from: sender)
      law(parameters["code"] == code && parameters["error"] == nil, "a code that was not sent")
      law(parameters["state"] == "state-1", "a code of another flow")
      law(parameters["iss"] == "https://idp.example" || (parameters["iss"] == nil && !mustSay), "of another issuer")
      law((1...AuthorizationResponse.codeBytesMax).contains(code.utf8.count), "a code of \(code.utf8.count) bytes")
    } catch {
      // It becomes part of a log line. An escaped quotation mark is two bytes.
      law("\(error)".utf8.allSatisfy { (0x20...0x7E).contains($0) }, "an error of several lines")
      law("\(error)".utf8.count < 450, "a refusal of \("\(error)".utf8.count) bytes")
    }
  }

  private static var tokenAnswerSeeds: [Seed] {
    [
      Seed("bearer", "\0{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"expires_in\":3600,\"scope\":\"a b\"}"),
      Seed("texts", "\0{\"access_token\":\"a\",\"expires_in\":\"3600\",\"refresh_token\":\"r\"}"),
      Seed("openid", "\0{\"access_token\":\"a\",\"id_token\":\"e30.e30.e30\",\"error\":null}"),
      Seed("refused", "\u{1}{\"error\":\"invalid_grant\",\"error_description\":\"spent\"}"),
      Seed("refused-200", "\0{\"error\":\"bad_verification_code\",\"access_token\":\"a\"}"),
      Seed("object", "\u{1}{\"error\":{\"message\":\"no\",\"code\":100}}"), Seed("page", "\u{6}<html></html>"),
    ]
  }

  private static var redirectSeeds: [Seed] {
    [
      Seed("code", "\0code=c/1\nstate=state-1"), Seed("issuer", "\u{1}code=c\nstate=state-1\niss=https://idp.example"),
      Seed("denied", "\0error=access_denied\nerror_description=no\nstate=state-1"),
      Seed("number", "\0error_code=100\nerror_message=no\nstate=state-1"),
      Seed("foreign", "\u{1}code=c\nstate=state-2\niss=https://thief.example"), Seed("empty", "\0"),
    ]
  }
}
