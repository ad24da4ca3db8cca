import Encodings

/// The check of an answer. Returns what is wrong with it, without quoting it: answers are never logged.
struct HookCheck: Sendable {
  private static let codeBytesMax = 64
  private static let reasonBytesMax = 256

  let tokens: any Tokens
  /// Claims of the session before the answer.
  let sessionClaimsJSON: String

  func fault(in answer: HookAnswer) -> String? {
    switch answer {
    case .allow(let changes): fault(in: changes)
    case .deny(let denial): HookCheck.fault(in: denial)
    }
  }

  private static func fault(in denial: HookDenial) -> String? {
    guard denial.code.utf8.count <= codeBytesMax else { return "code is longer than \(codeBytesMax) bytes" }
    let isName = denial.code.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
      default: false
      }
    }
    guard isName else { return "code has other characters than A-Z, 0-9 and _" }
    guard denial.reason.utf8.count <= reasonBytesMax else { return "reason is longer than \(reasonBytesMax) bytes" }
    return hasControls(denial.reason) ? "reason has control characters" : nil
  }

  private func fault(in changes: HookChanges) -> String? {
    if let name = changes.displayName {
      guard name.utf8.count <= ProfileLimits.displayNameBytesMax else {
        return "display_name is longer than \(ProfileLimits.displayNameBytesMax) bytes"
      }
      if HookCheck.hasControls(name) { return "display_name has control characters" }
    }
    if let url = changes.photoURL, !url.isEmpty {
      guard url.utf8.count <= ProfileLimits.urlBytesMax else {
        return "photo_url is longer than \(ProfileLimits.urlBytesMax) bytes"
      }
      guard url.hasPrefix("https://") || url.hasPrefix("http://"), !HookCheck.hasControls(url) else {
        return "photo_url is no http or https URL"
      }
    }
    if let claims = changes.customClaimsJSON, isInvalid(claims) { return "custom_claims_json is invalid" }
    if isInvalid(changes.sessionClaimsJSON) { return "session_claims_json is invalid" }
    guard let merged = try? tokens.claims(sessionClaimsJSON, overriddenBy: changes.sessionClaimsJSON),
      !isInvalid(merged)
    else { return "session_claims_json is too long together with the claims of the custom token" }
    return nil
  }

  private func isInvalid(_ json: String) -> Bool {
    guard !json.isEmpty else { return false }
    do { try tokens.validateCustomClaims(json, field: "claims") } catch { return true }
    return false
  }

  private static func hasControls(_ text: String) -> Bool { text.unicodeScalars.contains(where: ShownText.isControl) }
}
