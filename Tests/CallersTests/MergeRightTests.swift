import Callers
import Testing

@Test func `each caller has its own right to merge, and an unidentified caller never has it`() throws {
  let path = "/latchkey.v1.AccountService/Merge"
  let settings = CallerSettings(name: "web", san: "web", methods: ["*"], mayMerge: true, audiences: ["app"])
  let plain = CallerSettings(name: "shop", san: "shop", methods: ["*"], audiences: ["app"])
  let table = CallerTable([settings, plain], unidentified: settings, paths: [path])
  let web = try table.identify(certificateName: "web", authorization: [])
  #expect(web.mayMerge && web.rights.include(methodNumber: 0))
  #expect(try !table.identify(certificateName: "shop", authorization: []).mayMerge)
  let nobody = try table.identify(certificateName: nil, authorization: [])
  #expect(!nobody.mayMerge && !nobody.rights.include(methodNumber: 0))
}
