import API
import HookMessages
import Testing

@testable import HookServer

private func rules(_ text: String) throws(HookRules.Fault) -> HookRules {
  try HookRules(parsing: Array("{\"rules\": [\(text)]}".utf8))
}

private func creation(email: String = "", caller: String = "web", by providerID: String = "password")
  -> BeforeCreateRequest
{
  BeforeCreateRequest(
    call: HookedCall(caller: caller), account: HookedAccount(email: email), login: HookedLogin(providerID: providerID))
}

@Test func `without a rule that matches, everything is allowed`() throws {
  let rules = try rules("{\"event\": \"before_send\", \"deny\": {}}")
  #expect(rules.answer(creation()) == BeforeCreateResponse())
  #expect(rules.answer(BeforeSignInRequest()) == BeforeSignInResponse())
  #expect(rules.answer(BeforeSendRequest()).deny == Deny())
  #expect(try HookRules(parsing: Array("{\"rules\": []}".utf8)).answer(BeforeSendRequest()).deny == nil)
}

@Test func `the first rule that matches decides`() throws {
  let rules = try rules("""
    {"event": "before_create", "callers": ["shop"], "allow": {}},
    {"event": "before_create", "other_email_domains": ["Staff.example"], "deny": {"code": "DOMAIN", "reason": "No."}},
    {"event": "before_create", "deny": {"code": "LATER"}}
    """)
  #expect(rules.answer(creation(email: "a@b.example", caller: "shop")).answer == .allow(Allow()))
  #expect(rules.answer(creation(email: "a@b.example")).answer == .deny(Deny(code: "DOMAIN", reason: "No.")))
  #expect(rules.answer(creation(email: "a@STAFF.example")).answer == .deny(Deny(code: "LATER")))
}

@Test func `conditions compare caller, provider, domain and phone number`() throws {
  let rules = try rules("""
    {"event": "before_create", "providers": ["google.com"], "email_domains": ["evil.example"], "deny": {}},
    {"event": "before_send", "phone_prefixes": ["+1", "+44"], "deny": {"code": "COUNTRY"}}
    """)
  #expect(rules.answer(creation(email: "a@evil.example", by: "google.com")).answer == .deny(Deny()))
  #expect(rules.answer(creation(email: "a@evil.example")).answer == nil)
  #expect(rules.answer(creation(email: "a@evil.example.org", by: "google.com")).answer == nil)
  #expect(rules.answer(creation(by: "google.com")).answer == nil)
  #expect(rules.answer(BeforeSendRequest(phoneNumber: "+441632960962")).deny?.code == "COUNTRY")
  #expect(rules.answer(BeforeSendRequest(phoneNumber: "+4930123456")).deny == nil)
  #expect(rules.answer(BeforeSendRequest(email: "a@b.example")).deny == nil)
}

@Test func `a domain is compared in its encoded form, and a letter that joins the at sign hides none`() throws {
  let rules = try rules("""
    {"event": "before_create", "email_domains": ["münchen.example", "Evil.example"], "deny": {}}
    """)
  for email in ["a@xn--mnchen-3ya.example", "x\u{0D4E}@evil.example", "x\u{111C2}@evil.example"] {
    #expect(rules.answer(creation(email: email)).answer == .deny(Deny()), "\(email)")
  }
}

@Test func `allow lists what it changes`() throws {
  let rules = try rules("""
    {"event": "before_create", "allow": {"display_name": "", "photo_url": "https://a.example/", "disabled": true,
     "email_verified": false, "custom_claims": {"a": [1]}, "session_claims": {"b": "c"}}}
    """)
  guard case .allow(let allow) = rules.answer(creation()).answer else {
    Issue.record("denied")
    return
  }
  #expect(allow.updateMask == FieldMask(
    paths: ["display_name", "photo_url", "disabled", "email_verified", "custom_claims_json"]))
  #expect(allow.photoURL == "https://a.example/" && allow.disabled && !allow.emailVerified)
  #expect(allow.customClaimsJSON == "{\"a\":[1]}" && allow.sessionClaimsJSON == "{\"b\":\"c\"}")
}

@Test(arguments: [
  ("{\"event\": \"before_refresh\", \"deny\": {}}", "rules[0].event"),
  ("{\"deny\": {}}", "rules[0].event"),
  ("[]", "rules[0]"),
  ("{\"event\": \"before_create\"}", "rules[0]"),
  ("{\"event\": \"before_create\", \"deny\": {}, \"allow\": {}}", "rules[0]"),
  ("{\"event\": \"before_create\", \"deny\": {\"text\": \"\"}}", "rules[0].deny.text"),
  ("{\"event\": \"before_create\", \"deny\": {\"code\": 1}}", "rules[0].deny.code"),
  ("{\"event\": \"before_create\", \"allow\": {\"name\": \"\"}}", "rules[0].allow.name"),
  ("{\"event\": \"before_create\", \"allow\": {\"disabled\": 1}}", "rules[0].allow.disabled"),
  ("{\"event\": \"before_create\", \"allow\": {\"session_claims\": []}}", "rules[0].allow.session_claims"),
  ("{\"event\": \"before_create\", \"callers\": \"web\", \"deny\": {}}", "rules[0].callers"),
  ("{\"event\": \"before_create\", \"domains\": [], \"deny\": {}}", "rules[0].domains"),
  ("{\"event\": \"before_send\", \"allow\": {\"disabled\": true}}", "rules[0].allow"),
])
func `an invalid rule is rejected by its place`(text: String, place: String) {
  let fault = #expect(throws: HookRules.Fault.self) { try rules(text) }
  #expect(fault?.place == place)
}

@Test(arguments: ["", "[]", "{}", "{\"rules\": {}}", "{\"rules\": [], \"more\": 1}"])
func `an invalid file is rejected`(text: String) {
  let fault = #expect(throws: HookRules.Fault.self) { try HookRules(parsing: Array(text.utf8)) }
  #expect(fault?.place == "the file")
}
