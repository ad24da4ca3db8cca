import Encodings
import Identity
import Store
import Tokens
import API
import Protobuf

// Real input for each target. Input that only a tool can make (certificates and their keys) is in Corpus alone.

extension FuzzTarget {
  static var messageSeeds: [Seed] {
    let client = ClientContext(ipAddress: "192.0.2.1", userAgent: "curl", deviceID: "d")
    let password = Credential(kind: .password(PasswordCredential(email: "a@b.example", password: "secret")))
    let token = ProviderTokenCredential(
      providerID: "oidc.corp", idToken: "e.e.e", accessToken: "at", tokenSecret: "ts", rawNonce: "n")
    let account = Account(
      accountID: "a", email: "a@b.example", emailVerified: true, createdAtMillis: 1_500, lastSignInAtMillis: -1,
      providers: [LinkedProvider(providerID: "p", subject: "s"), LinkedProvider(linkedAtMillis: 1)],
      secondFactors: [SecondFactorHint(factorID: "f")], customClaimsJSON: "{}")
    let values: [any ProtobufMessage] = [
      SignInRequest(
        credential: password, pendingToken: "p", existingOnly: true, idempotencyKey: "k", client: client,
        binding: "0123456789abcdef", claimAddress: true),
      SignInRequest(credential: Credential(kind: .providerToken(token))),
      SignInRequest(credential: Credential(kind: .anonymous(AnonymousCredential()))),
      ReauthenticateRequest(idToken: "t", credential: Credential(kind: .pendingToken("p")), client: client),
      FetchProvidersRequest(subject: .email("a@b.example"), client: client),
      FetchProvidersRequest(subject: .pendingToken("")),
      LinkRequest(idToken: "t", credential: password, idempotencyKey: "k"),
      UnlinkRequest(idToken: "t", providerID: "google.com"), CreateRequest(email: "a@b.example", displayName: "Zoë"),
      GetRequest(idToken: "t"), DeleteRequest(idToken: "t", client: client),
      UpdateRequest(
        idToken: "t", account: account, updateMask: FieldMask(paths: ["display_name", "email"]), newPassword: "n"),
      MergeRequest(
        survivorIDToken: "t", otherIDToken: "u", dryRun: true,
        keep: [MergeKeep(field: "phone", fromAccountID: "a"), MergeKeep()]),
      LookupRequest(subject: .identity(ProviderIdentity(providerID: "p", subject: "s"))),
      CreateCustomTokenRequest(accountID: "a", claimsJSON: "{\"a\":1}", lifetimeMillis: -1_500),
      RefreshRequest(refreshToken: "r"), SignOutRequest(idToken: "t", refreshToken: "r"),
      VerifyIdTokenRequest(idToken: "t"), GetSigningKeysRequest(), HealthCheckRequest(service: "s"),
      ServerReflectionRequest(host: "h", messageRequest: .fileContainingSymbol("s")),
      ServerReflectionRequest(
        messageRequest: .fileContainingExtension(ExtensionRequest(containingType: "t", extensionNumber: -2))),
      Session(idToken: "t", account: account, isNewAccount: true, revokedProviderIDs: ["a", "b"]),
      ServerReflectionResponse(
        messageResponse: .allExtensionNumbersResponse(
          ExtensionNumberResponse(baseTypeName: "t", extensionNumber: [1, -1, 300]))),
      ServerReflectionResponse(
        messageResponse: .fileDescriptorResponse(FileDescriptorResponse(fileDescriptorProto: [[1, 2], []]))),
      StartFlowRequest(
        providerID: "google.com", redirectURI: "https://app.example/back", scopes: ["email"],
        customParameters: ["prompt": "consent", "hd": ""], idToken: "t", client: client),
      ImportAccountsRequest(
        options: ImportOptions(dryRun: true, hash: ImportHash()),
        accounts: [
          ImportedAccount(
            accountID: "a", email: "a@b.example", passwordHash: [1, 2], createdAtMillis: -1_500,
            providers: [LinkedProvider(providerID: "p", subject: "s")], phoneFactors: [ImportedPhoneFactor()]),
          ImportedAccount(),
        ]),
      FinishSecondFactorRequest(pendingToken: "p", factorID: "f", code: "123456", client: client),
      WatchRequest(cursor: "c", types: [.accountCreated, .unspecified]),
    ]
    let arena = Arena(budgetBytes: 65_536)
    return values.enumerated().flatMap { index, value -> [Seed] in
      let name = type(of: value).messageName.split(separator: ".").last.map(String.init) ?? ""
      let choice = UInt8(messages.firstIndex { $0.messageName == type(of: value).messageName } ?? 0)
      let bytes = value.encodeBare(arena: arena)
      // Two copies in a row are one message; field 99 is unknown.
      return [
        Seed("\(name)-\(index)", [choice] + bytes), Seed("\(name)-\(index)-twice", [choice] + bytes + bytes),
        Seed("\(name)-\(index)-newer", [choice] + bytes + [0x9A, 0x06, 0x01, 0x61]),
      ]
    }
  }

  static var framingSeeds: [Seed] {
    let hello = ClientFrames.message(Array("hello".utf8))
    return [
      Seed("unary", [0, 0, 1, 2, 3] + hello), Seed("unary-empty", [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
      Seed("stream", [1, 4, 5, 6, 200] + hello + hello + hello),
      Seed("compressed", [0, 9, 9, 9, 9, 1] + hello.dropFirst()),
      Seed("too-large", [1, 2, 2, 2, 2] + hello + [0, 0, 0, 1, 1]), Seed("cut", [0, 1, 1, 1, 1] + hello.dropLast()),
    ]
  }

  static var headSeeds: [Seed] {
    let usual = """
      :method: POST
      :scheme: https
      :path: /latchkey.v1.AuthService/SignIn
      :authority: localhost:8443
      te: trailers
      content-type: application/grpc+proto

      """
    let more = [
      "timeout": "grpc-timeout: 100m", "key": "authorization: Bearer lk_key", "other": "authorization: bearer lk_no",
      "encoding": "grpc-encoding: gzip", "identity": "grpc-encoding: identity", "binary": "trace-bin: AAEC,AAE=",
      "host": "host: localhost:8443", "attempts": "grpc-previous-rpc-attempts: 1", "agent": "user-agent: grpc-c++/1.51",
      "plain": "content-type: application/json", "get": ":method: GET", "bad-timeout": "grpc-timeout: 1234567890S",
    ]
    return [Seed("usual", usual)] + more.sorted { $0.key < $1.key }.map { Seed($0.key, usual + $0.value) }
  }

  static let timeoutSeeds = ["1H", "20M", "300S", "4000m", "50000u", "99999999n", "0n", "1", "S", "123456789m"]
    .map { Seed($0, $0) }

  static let encodingSeeds = ["", "a", "YQ==", "YWI", "YWJj", "a-_b", "a+/b,YQ", "50 % \u{E9}\n", "YR"].enumerated()
    .map { Seed("\($0)", $1) }

  static let tokenSeeds: [Seed] = {
    let good = goodClaims()
    let custom = CustomTokenClaims(
      issuer: "us", audience: "us", accountID: "a", issuedAt: now.seconds, expiresAt: now.seconds + 60, claims: .none)
    return [
      Seed("provider", Keys.signed(good)), Seed("provider-other-key", Keys.signed(good, keyID: "k2")),
      Seed("id-token", Keys.signedByUs(ourClaims, .idToken)),
      Seed("custom-token", Keys.signedByUs(custom.encoded(), .customToken)),
      Seed(
        "refresh-token",
        RefreshToken.repeated(after: Digest([UInt8](repeating: 1, count: 32)), sessionID: "s", OpenCryptography())
          .text(OpenCryptography())),
    ]
  }()

  static var claimSeeds: [Seed] {
    let custom = CustomTokenClaims(
      issuer: "us", audience: "us", accountID: "a", issuedAt: now.seconds, expiresAt: now.seconds + 60, claims: .none)
    return [
      Seed("good", goodClaims()), Seed("ours", ourClaims), Seed("custom", custom.encoded()),
      Seed("email", goodClaims("\"email\":\"A@b.example\",\"email_verified\":true,\"hd\":\"b.example\"")),
      Seed("audiences", goodClaims("\"azp\":\"client-2\"", audience: "[\"client-1\",\"client-2\"]")),
      Seed("profile", goodClaims("\"name\":\"Zo\u{EB}\",\"picture\":\"https://p\",\"preferred_username\":\"z\"")),
      Seed("times", goodClaims("\"nbf\":1.8e9,\"nonce\":\"n\",\"at_hash\":\"YQ\"")),
    ]
  }

  private static func goodClaims(_ more: String = "\"a\":1", audience: String = "\"client-1\"") -> [UInt8] {
    let times = "\"iat\":\(now.seconds - 10),\"exp\":\(now.seconds + 3_600)"
    return Array("{\"iss\":\"https://idp.example\",\"aud\":\(audience),\"sub\":\"p1\",\(times),\(more)}".utf8)
  }

  private static let ourClaims: [UInt8] = {
    var claims = IDTokenClaims(
      issuer: "us", audience: "a", accountID: "p1", issuedAt: now.seconds, expiresAt: now.seconds + 60,
      authenticatedAt: now.seconds, sessionID: "s", methods: ["pwd"], signInProvider: "password")
    claims.email = "a@b.example"
    claims.identities = [IDTokenClaims.Identity(providerID: "email", subjects: ["a@b.example"])]
    return claims.encoded()
  }()

  static let jsonSeeds = [
    "{\"a\":[1,-2.5e3,true,false,null],\"b\":{\"c\":\"\\u00e9\\ud83d\\ude00\\n\"}}", " [ ] ", "0", "-0.0", "\"\\/\"",
    "9223372036854775807", "9223372036854775808", "[[[[[[[[1]]]]]]]]", "{\"a\":1,\"a\":2}", "1e308", "\"\u{FEFF}\"",
    "[\"\\ud800\\n\",\"\\ud83d\\ude00\\udc00\"]",
  ].enumerated().map { Seed("\($0)", $1) }

  static let customClaimSeeds = [
    "{}", "{\"role\":\"admin\",\"level\":3}", " { \"a\" : [ 1e15, 0.1, -0 ] } ", "{\"sub\":\"x\"}",
    "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":1}}}}}}", "{\"text\":\"\\u0001\\\"\\\\\u{E9}\"}",
    "{\"big\":123456789012345678901234567890}",
  ].enumerated().map { Seed("\($0)", $1) }

  static var keySetSeeds: [Seed] {
    let rsa = "{\"kty\":\"RSA\",\"kid\":\"k1\",\"use\":\"sig\",\"alg\":\"RS256\",\"e\":\"AQAB\",\"n\":\"\(modulus)\"}"
    let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    let point = "\"x\":\"\(x)\",\"y\":\"\(y)\""
    return [
      Seed("ed25519", Keys.providersSet), Seed("rsa", "{\"keys\":[\(rsa)]}"),
      // RFC 7515 A.3.
      Seed("p256", "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\(point)}]}"),
      Seed("others", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"YQ\"},{\"kty\":\"EC\",\"crv\":\"secp256k1\"}]}"),
      Seed("none", "{\"keys\":[]}"),
    ]
  }

  /// Any odd number of 2048 bits is accepted as a modulus.
  private static var modulus: String { Base64URL.encode([UInt8](repeating: 0xC1, count: 256)) }

  static let addressSeeds = [
    "a@b.example", " Zo\u{EB}.X@B\u{FC}cher.EXAMPLE. ", "a@xn--bcher-kva.example", "a@b@c.example", "\"a b\"@c.example",
    "a@[192.0.2.1]", "\u{FF41}@b.example", "\u{130}@b.example", "a@\u{3B1}\u{3C3}.example", "+44 20 7946-0958",
    "+1(555)0100", "pass\u{FB01}word", "e\u{301}@b.example", "\u{1E9E}@b.example", "a@1.2.3.4",
    " +44 (0)20 7946",
  ].enumerated().map { Seed("\($0)", $1) }

  static var settingSeeds: [Seed] {
    let tls = "tls: {certificate_file: \"c.pem\", key_file: \"k.pem\"}"
    let caller = "{name: \"web\", san: \"uri:spiffe://x/web\", methods: [\"latchkey.v1.AuthService/*\"]}"
    let provider = "{id: \"oidc.c\", issuers: [\"https://i.example\"], client_ids: [\"c\"], email_trust: \"verified\"}"
    return [
      Seed("least", "\0{\(tls)}"), Seed("port", "LISTEN_PORT=9443\nLOG_LEVEL=debug\0{\(tls)}"),
      Seed("callers", "\0{\(tls), callers: [\(caller)], // why\n}"),
      Seed("providers", "\0{\(tls), providers: [\(provider), {id: \"google.com\", client_ids: [\"g\"]}]}"),
      Seed("limits", "\0{\(tls), limits: {streams_per_connection_max: 7, drain_seconds: 1}, reactors: 2,}"),
      Seed("policy", "\0{\(tls), policy: {auto_link: \"off\", pending_attempts_max: 3, password: false}}"),
      Seed("unknown", "\0{\(tls), \"no\\nsuch\": 1}"), Seed("not-json", "\0{listen: {port: }}"), Seed("empty", "\0"),
      Seed("numbers", "\0{\(tls), listen: {port: 0x20, allow_unidentified: true}, passwords: {workers: +1e1}}"),
    ]
  }

  static var pendingSeeds: [Seed] {
    let identity = IdentityKey(providerID: "oidc.corp", subject: "s")
    var held = PendingAssertion(
      Assertion(identity: identity, email: "a@b.example", tier: .verified, displayName: "A", profileJSON: "{}"),
      firstFactor: FirstFactor(signInProviderID: "oidc.corp", methods: ["fed"], claimsJSON: ""))
    let plain = Seed("plain", held.packed)
    held.intent = .link
    held.singleUse = SingleUse(digest: Digest([UInt8](repeating: 1, count: 32)), expiresAt: now)
    held.sessionID = "s"
    held.passwordHash = "$argon2id$"
    held.completing = Digest([UInt8](repeating: 2, count: 32))
    held.existingOnly = true
    return [plain, Seed("full", held.packed)]
  }

  static var keyFileSeeds: [Seed] {
    let digits = String(repeating: "0123456789abcdef", count: 4)
    return [Seed("master-key", digits + "\n"), Seed("short", "abc")]
  }

  /// Made with openssl, see Corpus.
  static var pemSeeds: [Seed] { [] }
  static var certificateSeeds: [Seed] { [] }
}
