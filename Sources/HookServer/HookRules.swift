package import HookMessages
internal import API
internal import Text
internal import Tokens

/// The rules of a file. The first one that matches a question decides; without one, the answer allows.
package struct HookRules: Sendable {
  private static let depthMax = 8
  private static let fileBytesMax = 1 << 20

  /// An error in the file, with the place of the rule.
  package struct Fault: Error, Hashable, CustomStringConvertible {
    package var place: String
    package var why: String
    package var description: String { "\(place): \(why)" }
  }

  private let rules: [Rule]

  /// Reads `{"rules": [{…}, …]}`.
  package init(parsing bytes: [UInt8]) throws(Fault) {
    let document: JSONValue
    do throws(JSONError) {
      document = try JSONValue.parse(bytes, byteCountMax: HookRules.fileBytesMax, depthMax: HookRules.depthMax)
    } catch {
      throw Fault(place: "the file", why: "it is not JSON: \(error)")
    }
    guard let members = document.members, let listed = document["rules"]?.array, members.count == 1 else {
      throw Fault(place: "the file", why: "it must be {\"rules\": […]}")
    }
    var rules: [Rule] = []
    for (index, value) in listed.enumerated() { rules.append(try Rule(value, place: "rules[\(index)]")) }
    self.rules = rules
  }

  package func answer(_ request: BeforeCreateRequest) -> BeforeCreateResponse {
    let asked = Asked("before_create", request.call, request.account, request.login)
    switch effect(asked) {
    case .deny(let deny): return BeforeCreateResponse(answer: .deny(deny))
    case .allow(let allow): return BeforeCreateResponse(answer: .allow(allow))
    case nil: return BeforeCreateResponse()
    }
  }

  package func answer(_ request: BeforeSignInRequest) -> BeforeSignInResponse {
    let asked = Asked("before_sign_in", request.call, request.account, request.login)
    switch effect(asked) {
    case .deny(let deny): return BeforeSignInResponse(answer: .deny(deny))
    case .allow(let allow): return BeforeSignInResponse(answer: .allow(allow))
    case nil: return BeforeSignInResponse()
    }
  }

  package func answer(_ request: BeforeSendRequest) -> BeforeSendResponse {
    var asked = Asked("before_send", request.call, nil, nil)
    (asked.email, asked.phoneNumber) = (request.email, request.phoneNumber)
    guard case .deny(let deny)? = effect(asked) else { return BeforeSendResponse() }
    return BeforeSendResponse(deny: deny)
  }

  private func effect(_ asked: Asked) -> Rule.Effect? { rules.first { $0.matches(asked) }?.effect }
}

/// What rules are compared with.
private struct Asked {
  var event: String
  var caller: String
  var providerID: String
  var email: String
  var phoneNumber: String

  init(_ event: String, _ call: HookedCall?, _ account: HookedAccount?, _ login: HookedLogin?) {
    self.event = event
    caller = call?.caller ?? ""
    providerID = login?.providerID ?? ""
    email = account?.email ?? ""
    phoneNumber = account?.phoneNumber ?? ""
  }

  /// In lower case, as all addresses of the service; empty without one.
  var domain: String { emailDomain(email).lowercased() }
}

private struct Rule: Sendable {
  enum Effect: Sendable {
    case allow(Allow)
    case deny(Deny)
  }

  private static let events = ["before_create", "before_sign_in", "before_send"]
  private static let conditions = ["callers", "providers", "email_domains", "other_email_domains", "phone_prefixes"]

  private let event: String
  private var conditions: [String: [String]] = [:]
  let effect: Effect

  init(_ value: JSONValue, place: String) throws(HookRules.Fault) {
    guard let members = value.members else { throw HookRules.Fault(place: place, why: "it must be an object") }
    let known = ["event", "deny", "allow"] + Rule.conditions
    if let unknown = members.first(where: { !known.contains($0.name) }) {
      throw HookRules.Fault(place: "\(place).\(unknown.name)", why: "there is no such member")
    }
    guard let event = value["event"]?.string, Rule.events.contains(event) else {
      throw HookRules.Fault(place: "\(place).event", why: "it must be one of \(Rule.events.joined(separator: ", "))")
    }
    self.event = event
    for name in Rule.conditions {
      guard let listed = value[name] else { continue }
      guard let texts = listed.strings else {
        throw HookRules.Fault(place: "\(place).\(name)", why: "it must be a list of texts")
      }
      conditions[name] = name.hasSuffix("domains") ? try Rule.domains(texts, place: "\(place).\(name)") : texts
    }
    switch (value["deny"], value["allow"]) {
    case (let deny?, nil): effect = .deny(try Deny(deny, place: "\(place).deny"))
    case (nil, let allow?) where event != "before_send": effect = .allow(try Allow(allow, place: "\(place).allow"))
    case (nil, let allow?):
      guard allow.members?.isEmpty == true else {
        throw HookRules.Fault(place: "\(place).allow", why: "a message cannot be changed; it must be {}")
      }
      effect = .allow(Allow())
    default: throw HookRules.Fault(place: place, why: "it must have either deny or allow")
    }
  }

  private static func domains(_ texts: [String], place: String) throws(HookRules.Fault) -> [String] {
    try texts.map { text throws(HookRules.Fault) in
      guard let domain = canonicalEmailDomain(text) else {
        throw HookRules.Fault(place: place, why: "\(text) is not a domain")
      }
      return domain
    }
  }

  func matches(_ asked: Asked) -> Bool {
    guard event == asked.event else { return false }
    if let callers = conditions["callers"], !callers.contains(asked.caller) { return false }
    if let providers = conditions["providers"], !providers.contains(asked.providerID) { return false }
    if let domains = conditions["email_domains"], !domains.contains(asked.domain) { return false }
    if let domains = conditions["other_email_domains"], domains.contains(asked.domain) { return false }
    if let prefixes = conditions["phone_prefixes"] {
      guard !asked.phoneNumber.isEmpty, prefixes.contains(where: asked.phoneNumber.hasPrefix) else { return false }
    }
    return true
  }
}

extension Deny {
  fileprivate init(_ value: JSONValue, place: String) throws(HookRules.Fault) {
    self.init()
    guard let members = value.members else { throw HookRules.Fault(place: place, why: "it must be an object") }
    for member in members {
      guard let text = member.value.string else {
        throw HookRules.Fault(place: "\(place).\(member.name)", why: "it must be a text")
      }
      switch member.name {
      case "code": code = text
      case "reason": reason = text
      default: throw HookRules.Fault(place: "\(place).\(member.name)", why: "there is no such member")
      }
    }
  }
}

extension Allow {
  fileprivate init(_ value: JSONValue, place: String) throws(HookRules.Fault) {
    self.init()
    guard let members = value.members else { throw HookRules.Fault(place: place, why: "it must be an object") }
    var paths: [String] = []
    for member in members {
      func fault(_ why: String) -> HookRules.Fault { HookRules.Fault(place: "\(place).\(member.name)", why: why) }
      switch member.name {
      case "display_name", "photo_url":
        guard let text = member.value.string else { throw fault("it must be a text") }
        if member.name == "photo_url" { photoURL = text } else { displayName = text }
        paths.append(member.name)
      case "disabled", "email_verified":
        guard let flag = member.value.bool else { throw fault("it must be true or false") }
        if member.name == "disabled" { disabled = flag } else { emailVerified = flag }
        paths.append(member.name)
      case "custom_claims", "session_claims":
        guard member.value.members != nil else { throw fault("it must be an object") }
        var writer = JSONWriter()
        writer.value(member.value)
        let json = String(decoding: writer.bytes, as: UTF8.self)
        if member.name == "session_claims" { sessionClaimsJSON = json } else { customClaimsJSON = json }
        if member.name == "custom_claims" { paths.append("custom_claims_json") }
      default: throw fault("there is no such member")
      }
    }
    updateMask = paths.isEmpty ? nil : FieldMask(paths: paths)
  }
}
