import Callers
import Store
import Testing

private let paths = [
  "/latchkey.v1.AuthService/SignIn", "/latchkey.v1.AuthService/Link", "/latchkey.v1.AccountService/Get",
  "/latchkey.v1.AdminService/Lookup", "/latchkey.v1.AdminService/CreateCustomToken",
]

private func allowed(_ patterns: [String], isIdentified: Bool = true) -> [String] {
  let rights = Rights(patterns, paths: paths, isIdentified: isIdentified)
  let byNumber = paths.indices.filter { rights.include(methodNumber: $0) }.map { paths[$0] }
  #expect(paths.filter { rights.include(path: $0) } == byNumber)
  return byNumber.map { String($0.dropFirst("/latchkey.v1.".count)) }
}

@Test func `a caller without patterns has no rights`() {
  #expect(allowed([]) == [])
}

@Test func `a star allows every method`() {
  #expect(allowed(["*"]).count == paths.count)
}

@Test func `a method's name allows that method only`() {
  #expect(allowed(["latchkey.v1.AuthService/Link"]) == ["AuthService/Link"])
}

@Test func `a service's star allows its methods only`() {
  #expect(allowed(["latchkey.v1.AuthService/*"]) == ["AuthService/SignIn", "AuthService/Link"])
}

@Test func `patterns add up, whatever their order`() {
  let patterns = ["latchkey.v1.AccountService/Get", "latchkey.v1.AuthService/*"]
  #expect(allowed(patterns) == ["AuthService/SignIn", "AuthService/Link", "AccountService/Get"])
  #expect(allowed(patterns.reversed()) == allowed(patterns))
}

@Test(arguments: [
  "", "/", "/*", "latchkey.v1.AuthService", "latchkey.v1.AuthService/", "latchkey.v1.AuthService/Sign",
  "latchkey.v1.AuthService/SignIn ", "latchkey.v1.authservice/*", "latchkey.v1.*", "latchkey.v1.Auth/*",
  "/latchkey.v1.AuthService/SignIn", "*/SignIn", "AuthService/SignIn", "**",
])
func `text that only resembles a pattern allows nothing`(pattern: String) {
  #expect(allowed([pattern]) == [])
}

@Test func `a service's star ends at its slash`() {
  let rights = Rights(
    ["latchkey.v1.Auth/*"], paths: ["/latchkey.v1.Auth/A", "/latchkey.v1.AuthService/B"], isIdentified: true)
  #expect(rights.include(methodNumber: 0) && !rights.include(methodNumber: 1))
}

@Test(arguments: ["*", "latchkey.v1.AdminService/*", "latchkey.v1.AdminService/Lookup"])
func `check 114: unidentified callers never get administration, even if it is granted`(pattern: String) {
  #expect(allowed([pattern, "latchkey.v1.AuthService/SignIn"], isIdentified: false)
    .filter { $0.hasPrefix("AdminService") } == [])
  #expect(allowed([pattern, "latchkey.v1.AuthService/SignIn"], isIdentified: false).contains("AuthService/SignIn"))
  #expect(allowed([pattern]).contains("AdminService/Lookup"))
}

@Test func `check 114: unidentified callers never get events, even if they are granted`() {
  let patterns = ["*", "latchkey.v1.EventService/Watch"]
  for (isIdentified, isAllowed) in [(false, false), (true, true)] {
    let rights = Rights(patterns, paths: ["/latchkey.v1.EventService/Watch"], isIdentified: isIdentified)
    #expect(rights.include(methodNumber: 0) == isAllowed)
  }
}

@Test func `check 114: each caller in the table has its own rights`() throws {
  let table = CallerTable(
    [
      CallerSettings(name: "web", san: "web", methods: ["latchkey.v1.AuthService/*"], audiences: ["web"]),
      CallerSettings(name: "operations", san: "operations", methods: ["*"], audiences: ["operations"]),
    ],
    unidentified: CallerSettings(name: "unidentified", methods: ["*"], audiences: ["app"]), paths: paths)
  let rights = try ["web", "operations", nil].map { name in
    let caller = try table.identify(certificateName: name, authorization: [], now: Timestamp(millis: 0))
    return paths.indices.map { caller.rights.include(methodNumber: $0) }
  }
  let (yes, no) = (true, false)
  #expect(rights == [[yes, yes, no, no, no], [yes, yes, yes, yes, yes], [yes, yes, yes, no, no]])
}
