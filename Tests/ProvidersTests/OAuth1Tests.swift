import Crypto
import FoundationEssentials
import Testing
import Tokens

@testable import Providers

/// Check 71: the base string and its signature, with the examples of RFC 5849, X, and oauthlib.
struct SignatureTests {
  /// RFC 5849, 3.4.1.1.
  private let example = SignedRequest(
    method: "POST", url: "http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b",
    form: Form(parsing: Array("c2&a3=2+q".utf8)) ?? Form())
  private let exampleHeader = Form([
    Parameter("realm", "Example"), Parameter("oauth_consumer_key", "9djdj82h48djs9d2"),
    Parameter("oauth_token", "kkk9d7dh3k39sjv7"), Parameter("oauth_signature_method", "HMAC-SHA1"),
    Parameter("oauth_timestamp", "137131201"), Parameter("oauth_nonce", "7d8f3e4a"),
    Parameter("oauth_signature", "bYT5CMsGcbgUdFHObYMEfcx6bsw="),
  ])

  @Test func `check 71: the base string is that of RFC 5849, 3.4.1.1`() {
    #expect(
      SignatureBase.text(example, oauth: exampleHeader) == """
        POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D\
        %26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1\
        %26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7
        """)
  }

  @Test func `check 71: the parameters are normalised as in RFC 5849, 3.4.1.3.2`() {
    let parameters = [
      ("b5", "=%3D"), ("a3", "a"), ("c@", ""), ("a2", "r b"), ("oauth_consumer_key", "9djdj82h48djs9d2"),
      ("oauth_token", "kkk9d7dh3k39sjv7"), ("oauth_signature_method", "HMAC-SHA1"),
      ("oauth_timestamp", "137131201"), ("oauth_nonce", "7d8f3e4a"), ("c2", ""), ("a3", "2 q"),
    ]
    #expect(
      SignatureBase.normalised(parameters.map { Parameter($0.0, $0.1) }) == """
        a2=r%20b&a3=2%20q&a3=a&b5=%3D%253D&c%40=&c2=&oauth_consumer_key=9djdj82h48djs9d2&oauth_nonce=7d8f3e4a\
        &oauth_signature_method=HMAC-SHA1&oauth_timestamp=137131201&oauth_token=kkk9d7dh3k39sjv7
        """)
  }

  @Test(arguments: [
    ("http://EXAMPLE.COM:80/r%20v/X?id=123", "http://example.com/r%20v/X"),
    ("https://www.example.net:8080/?q=1", "https://www.example.net:8080/"),
    ("HTTPS://api.X.com:443/Path#part", "https://api.x.com/Path"), ("https://api.x.com:80", "https://api.x.com:80/"),
    ("https://[::1]:443/a", "https://[::1]/a"), ("https://[fe80::443]", "https://[fe80::443]/"),
    ("http://example.com?a=/b", "http://example.com/"),
  ])
  func `check 71: the base string URI is that of RFC 5849, 3.4.1.2`(url: String, uri: String) {
    #expect(SignatureBase.uri(url) == uri)
  }

  @Test(arguments: ["", "api.x.com", "ftp://api.x.com/", "https:/api.x.com", "https://", "https://a@api.x.com/"])
  func `an unusable request URL has no base string`(url: String) {
    #expect(SignatureBase.text(SignedRequest(method: "GET", url: url), oauth: Form()) == nil)
  }

  @Test func `check 71: a signature excludes the signature parameter, and includes a realm only in the query`() {
    let request = SignedRequest(method: "GET", url: "https://x.com/?oauth_signature=a&realm=b&c=d")
    #expect(
      SignatureBase.text(request, oauth: exampleHeader)?.hasPrefix("GET&https%3A%2F%2Fx.com%2F&c%3Dd%26oauth_consumer")
        == true)
    #expect(SignatureBase.text(request, oauth: exampleHeader)?.hasSuffix("%26realm%3Db") == true)
  }

  @Test(arguments: ["%", "%2", "%zz", "%FF", "a=%C3"])
  func `a query that is not a form has no base string`(query: String) {
    #expect(SignatureBase.text(SignedRequest(method: "GET", url: "https://x.com/?" + query), oauth: Form()) == nil)
  }

  /// The three requests of RFC 5849, 1.2, which carry no oauth_version.
  @Test(arguments: [
    (
      "POST", "https://photos.example.net/initiate", "", "",
      "oauth_timestamp=137131200&oauth_nonce=wIjqoS&oauth_callback=http%3A%2F%2Fprinter.example.com%2Fready",
      "74KNZJeDHnMBp0EMJ9ZHt/XKycU="
    ),
    (
      "POST", "https://photos.example.net/token", "hh5s93j4hdidpola", "hdhd0244k9j7ao03",
      "oauth_timestamp=137131201&oauth_nonce=walatlh&oauth_verifier=hfdp7dh39dks9884", "gKgrFCywp7rO0OXSjdot/IHF7IU="
    ),
    (
      "GET", "http://photos.example.net/photos?file=vacation.jpg&size=original", "nnch734d00sl2jdk",
      "pfkkdhi9sl3r4s00", "oauth_timestamp=137131202&oauth_nonce=chapoH", "MdpQcU8iPSUjWoN/UDMsK2sui9I="
    ),
  ])
  func `check 71: the signatures are those of RFC 5849, 1.2`(
    method: String, url: String, token: String, tokenSecret: String, header: String, signature: String
  ) throws {
    var oauth = try #require(Form(parsing: Array(header.utf8)))
    oauth.parameters += [
      Parameter("oauth_consumer_key", "dpf43f3p2l4k3l03"), Parameter("oauth_signature_method", "HMAC-SHA1"),
      Parameter("realm", "Photos"),
    ]
    if !token.isEmpty { oauth.parameters.append(Parameter("oauth_token", token)) }
    let base = try #require(SignatureBase.text(SignedRequest(method: method, url: url), oauth: oauth))
    let signer = OAuth1Signer(
      consumerKey: "dpf43f3p2l4k3l03", consumerSecret: Secret(copying: Array("kd94hf93k423kf44".utf8)), token: token,
      tokenSecret: tokenSecret)
    #expect(signer.signature(of: base) == signature)
  }

  @Test func `check 71: the Authorization header equals X's published sample`() {
    let signer = OAuth1Signer(
      consumerKey: "xvz1evFS4wEEPTGEFPHBog",
      consumerSecret: Secret(copying: Array("kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw".utf8)),
      token: "370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb",
      tokenSecret: "LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE")
    let request = SignedRequest(
      method: "POST", url: "https://api.x.com/1.1/statuses/update.json?include_entities=true",
      form: Form([Parameter("status", "Hello Ladies + Gentlemen, a signed OAuth request!")]))
    let stamp = RequestStamp(nonce: "kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", seconds: 1_318_622_958)
    #expect(
      signer.authorization(request, stamp) == """
        OAuth oauth_consumer_key="xvz1evFS4wEEPTGEFPHBog", \
        oauth_nonce="kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg", oauth_signature_method="HMAC-SHA1", \
        oauth_timestamp="1318622958", oauth_version="1.0", \
        oauth_token="370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb", \
        oauth_signature="Ls93hJiZbQ3akF3HF3x1Bz8%2FzU4%3D"
        """)
  }

  @Test func `check 71: a thousand random requests are signed as oauthlib signs them`() throws {
    let folder = "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/")
    let file = try #require(FileManager.default.contents(atPath: folder + "/Fixtures/signed_requests.jsonl"))
    let lines = Array(file).split(separator: UInt8(ascii: "\n"))
    #expect(lines.count == 1000)
    for (number, line) in lines.enumerated() {
      let fields = try JSONValue.parse(Array(line), byteCountMax: 16_384)
      func field(_ name: String) throws -> String { try #require(fields[name]?.string) }
      let signer = OAuth1Signer(
        consumerKey: try field("consumer_key"),
        consumerSecret: Secret(copying: Array(try field("consumer_secret").utf8)), token: try field("token"),
        tokenSecret: try field("token_secret"))
      let form = try #require(Form(parsing: Array(try field("form").utf8)))
      let request = SignedRequest(method: try field("method"), url: try field("url"), form: form)
      let stamp = RequestStamp(nonce: try field("nonce"), seconds: try #require(Int64(try field("timestamp"))))
      let extra = [
        Parameter("oauth_callback", try field("callback")), Parameter("oauth_verifier", try field("verifier")),
      ].filter { !$0.value.isEmpty }
      let header = try #require(signer.authorization(request, stamp, adding: extra))
      let signature = try field("signature")
      #expect(header.hasSuffix(" oauth_signature=\"\(signature)\""), "line \(number + 1)")
    }
  }
}

struct FormTests {
  @Test func `a form is read as in browsers and RFC 5849`() {
    let form = Form(parsing: Array("a=1&b&=c&a=+%2B%20&&d==".utf8))
    #expect(
      form?.parameters == [
        Parameter("a", "1"), Parameter("b", ""), Parameter("", "c"), Parameter("a", " + "), Parameter("d", "="),
      ])
    #expect(Form(parsing: []) == Form())
  }

  @Test func `a duplicate parameter has no value`() {
    let form = Form(parsing: Array("a=1&a=2&b=3".utf8))
    #expect(form?["a"] == nil)
    #expect(form?["b"] == "3")
    #expect(form?["c"] == nil)
  }
}
