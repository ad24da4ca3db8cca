import Testing

@testable import latchkey_load

private func parse(_ text: String) throws(ScenarioError) -> Scenario { try Scenario.parse(Array(text.utf8)) }

@Test func `a scenario is a list of workloads with their weights, which default to one`() throws {
  let scenario = try parse(
    """
    // The relaxed syntax that users write.
    { mix: [{ workload: "fetch", weight: 60 }, { workload: 'conflict' },] }
    """)
  #expect(scenario.parts.map(\.workload.name) == ["fetch", "conflict"])
  #expect(scenario.parts.map(\.weight) == [60, 1])
}

@Test(arguments: [
  ("{", "the file"), ("[]", "the file"), ("{}", "mix"), ("{ mix: 1 }", "mix"), ("{ mix: [] }", "mix"),
  ("{ mix: [1] }", "mix[0]"), ("{ mix: [{}] }", "mix[0].workload"),
  ("{ mix: [{ workload: 'fetch' }, { workload: 'fetsch' }] }", "mix[1].workload"),
  ("{ mix: [{ workload: 'handshake' }] }", "mix[0].workload"),
  ("{ mix: [{ workload: 1 }] }", "mix[0].workload"),
  ("{ mix: [{ workload: 'fetch', weight: 0 }] }", "mix[0].weight"),
  ("{ mix: [{ workload: 'fetch', weight: 1000001 }] }", "mix[0].weight"),
  ("{ mix: [{ workload: 'fetch', weight: 1.5 }] }", "mix[0].weight"),
  ("{ mix: [{ workload: 'fetch', weight: 'much' }] }", "mix[0].weight"),
  ("{ mix: [{ workload: 'fetch', wait: 1 }] }", "mix[0].wait"),
  ("{ mix: [{ workload: 'get' }, { workload: 'fetch' }, { workload: 'get' }] }", "mix"),
  ("{ mixture: [] }", "mixture"),
])
func `the error for a wrong scenario names its place`(text: String, setting: String) {
  #expect {
    try parse(text)
  } throws: { error in
    guard let error = error as? ScenarioError else { return false }
    return error.setting == setting && !error.why.isEmpty
  }
}

@Test func `the maximum weight is accepted`() throws {
  #expect(try parse("{ mix: [{ workload: 'get', weight: 1000000 }] }").parts.first?.weight == Scenario.weightMax)
}
