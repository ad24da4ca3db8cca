import Callers
import Store
import Testing

@Test func `naming an actor and creating links are rights of their own, which only identified callers have`() throws {
  let settings = CallerSettings(
    name: "support", san: "support", methods: ["*"], mayNameActor: true, mayCreateEmailLinks: true, audiences: ["app"])
  let plain = CallerSettings(name: "shop", san: "shop", methods: ["*"], audiences: ["app"])
  let table = CallerTable([settings, plain], unidentified: settings, paths: [])
  let support = try table.identify(certificateName: "support", authorization: [], now: Timestamp(millis: 1))
  #expect(support.mayNameActor && support.mayCreateEmailLinks)
  for name in ["shop", nil] {
    let caller = try table.identify(certificateName: name, authorization: [], now: Timestamp(millis: 1))
    #expect(!caller.mayNameActor && !caller.mayCreateEmailLinks)
  }
  let directory = CallerDirectory()
  #expect(directory["shop"] == nil)
  directory.replace(table)
  #expect(directory["shop"]?.name == CallerName("shop") && directory["nobody"] == nil)
}

@Test func `each caller has its own right to merge, and an unidentified caller never has it`() throws {
  let path = "/latchkey.v1.AccountService/Merge"
  let settings = CallerSettings(name: "web", san: "web", methods: ["*"], mayMerge: true, audiences: ["app"])
  let plain = CallerSettings(name: "shop", san: "shop", methods: ["*"], audiences: ["app"])
  let table = CallerTable([settings, plain], unidentified: settings, paths: [path])
  let web = try table.identify(certificateName: "web", authorization: [], now: Timestamp(millis: 0))
  #expect(web.mayMerge && web.rights.include(methodNumber: 0))
  #expect(try !table.identify(certificateName: "shop", authorization: [], now: Timestamp(millis: 0)).mayMerge)
  let nobody = try table.identify(certificateName: nil, authorization: [], now: Timestamp(millis: 0))
  #expect(!nobody.mayMerge && !nobody.rights.include(methodNumber: 0))
}
