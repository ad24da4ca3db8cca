import Providers

extension FuzzTarget {
  /// A request of OAuth 1.0a: its URL in the first line, its form in the second. A parsed form that is encoded again
  /// reads the same. The base string has three parts, and depends neither on the order of parameters nor on a
  /// signature.
  static let signedRequest = FuzzTarget("signed_request", seeds: signedRequestSeeds) { input in
    let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let url = lines.first.flatMap({ String(validating: $0, as: UTF8.self) }),
      let form = Form(parsing: lines.count > 1 ? Array(lines[1]) : [])
    else { return }
    law(Form(parsing: URLEncoding.form(form.parameters)) == form, "a form that changes when it is written")
    let oauth = Form([Parameter("oauth_nonce", "n"), Parameter("oauth_signature", "s"), Parameter("realm", "r")])
    let request = SignedRequest(method: "post", url: url, form: form)
    guard let base = SignatureBase.text(request, oauth: oauth) else { return }
    let parts = base.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    law(parts.count == 3 && parts[0].elementsEqual("POST".utf8), "a base string of \(parts.count) parts")
    law(parts[1].starts(with: "http".utf8), "a base string of another scheme")
    law(base.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a base string that is not visible ASCII")
    let reversed = Form(form.parameters.reversed() + [Parameter("oauth_signature", "t")])
    let turned = SignedRequest(method: "POST", url: url, form: reversed)
    law(SignatureBase.text(turned, oauth: Form(oauth.parameters.reversed())) == base, "an order that counts")
  }

  private static var signedRequestSeeds: [Seed] {
    [
      Seed("rfc5849", "http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b\nc2&a3=2+q"),
      Seed("profile", "https://api.x.com/1.1/account/verify_credentials.json?include_email=true\n"),
      Seed("tokens", "https://api.x.com\noauth_token=t&oauth_token_secret=s&oauth_callback_confirmed=true"),
      Seed("address", "HTTPS://[::1]:443?%C3%A4=%e2%82%ac#part\n=&&=&a="), Seed("broken", "https://x?%zz\n%"),
      Seed("user", "https://a@x.com/\na"), Seed("empty", ""),
    ]
  }
}
