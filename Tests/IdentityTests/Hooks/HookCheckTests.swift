import Testing

@testable import Identity

/// The limits of answers, at the edge and past it.
struct `Answers of hooks` {
  private let check = HookCheck(tokens: FakeTokens(), sessionClaimsJSON: "{\"token\":1}")

  private func allowing(_ edit: (inout HookChanges) -> Void) -> HookAnswer {
    var changes = HookChanges()
    edit(&changes)
    return .allow(changes)
  }

  private func claims(bytes: Int) -> String {
    let frame = "{\"a\":\"\"}"
    return frame.dropLast(2) + String(repeating: "x", count: bytes - frame.utf8.count) + "\"}"
  }

  @Test func `answers within the limits are valid`() {
    let valid = [
      allowing { _ in },
      allowing { $0.displayName = String(repeating: "x", count: 256) },
      allowing { $0.displayName = "" },
      allowing { $0.photoURL = "https://a.example/" + String(repeating: "x", count: 2_048 - 18) },
      allowing { $0.photoURL = "" },
      allowing { $0.customClaimsJSON = claims(bytes: 1_000) },
      allowing { $0.customClaimsJSON = "" },
      // Together with the claims of the token, these are 1,000 bytes.
      allowing { $0.sessionClaimsJSON = claims(bytes: 990) },
      .deny(HookDenial()),
      .deny(HookDenial(
        code: String(repeating: "A", count: 64), reason: String(repeating: "x", count: 256))),
    ]
    for answer in valid { #expect(check.fault(in: answer) == nil) }
  }

  @Test func `answers past the limits are failures, which do not quote them`() {
    let invalid = [
      allowing { $0.displayName = String(repeating: "x", count: 257) },
      allowing { $0.displayName = "Ada\u{202E}" },
      allowing { $0.photoURL = "https://a.example/" + String(repeating: "x", count: 2_048 - 17) },
      allowing { $0.photoURL = "javascript:alert(1)" },
      allowing { $0.customClaimsJSON = claims(bytes: 1_001) },
      allowing { $0.customClaimsJSON = "{\"sub\":1}" },
      allowing { $0.sessionClaimsJSON = "{\"sub\":1}" },
      allowing { $0.sessionClaimsJSON = claims(bytes: 1_001) },
      allowing { $0.sessionClaimsJSON = claims(bytes: 991) },
      .deny(HookDenial(code: String(repeating: "A", count: 65))),
      .deny(HookDenial(code: "no spaces")),
      .deny(HookDenial(reason: String(repeating: "x", count: 257))),
      .deny(HookDenial(reason: "a\nb")),
    ]
    for answer in invalid {
      let fault = check.fault(in: answer)
      #expect(fault != nil, "\(answer)")
      #expect(fault?.contains("xxx") != true && fault?.contains("alert") != true)
    }
  }
}
