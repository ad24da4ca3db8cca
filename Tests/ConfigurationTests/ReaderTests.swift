import Testing

@testable import Configuration

private enum Colour: String, CaseIterable { case red, green }

private func reader(_ text: String, _ environment: [String: String] = [:]) throws -> SettingsReader {
  try SettingsReader(try ConfigNode.parse(Array(text.utf8)), environment: environment)
}

@Test func `a missing or null setting has its default`() throws {
  for text in ["{}", "{ a: null, b: null, c: null, d: null, e: null }"] {
    var reader = try reader(text)
    #expect(try reader.text("a", "x", "") == "x")
    #expect(try reader.flag("b", true, ""))
    #expect(try reader.integer("c", 3, 1...5, "") == 3)
    #expect(try reader.choice("d", Colour.green, "") == .green)
    #expect(try reader.texts("e", ["y"], "") == ["y"])
    try reader.finish()
  }
}

@Test func `a setting in the file has its value`() throws {
  var reader = try reader("{ a: 'x', b: false, c: 4, d: 'red', e: ['p', 'q'], f: 'one' }")
  #expect(try reader.text("a", "", "") == "x")
  #expect(try !reader.flag("b", true, ""))
  #expect(try reader.integer("c", 3, 1...5, "") == 4)
  #expect(try reader.choice("d", Colour.green, "") == .red)
  #expect(try reader.texts("e", [], "") == ["p", "q"])
  #expect(try reader.texts("f", [], "") == ["one"])
  try reader.finish()
}

@Test func `an unknown setting is rejected, also in groups and list elements`() throws {
  var reader = try reader("{ b: 1, a: 1, group: { x: 1 }, list: [{}, { y: 1 }] }")
  #expect(refusal { try reader.finish() }?.setting == "a")
  #expect(refusal { try reader.group("group") { _ in } }?.setting == "group.x")
  #expect(refusal { try reader.groups("list") { _ in } }?.setting == "list[1].y")
}

@Test func `a missing group is an empty group`() throws {
  var reader = try reader("{}")
  #expect(try reader.group("group") { group throws(ConfigurationError) in try group.text("x", "d", "") } == "d")
  #expect(try reader.groups("list") { _ in 1 } == [])
}

@Test(arguments: ["1", "true", "'x'", "[]"])
func `a value that is not a group is rejected with the group's name`(value: String) throws {
  var reader = try reader("{ outer: { group: \(value) } }")
  let refused = refusal {
    try reader.group("outer") { outer throws(ConfigurationError) in try outer.group("group") { _ in } }
  }
  #expect(refused?.setting == "outer.group")
}

@Test func `the environment overrides the file, in the setting's type`() throws {
  let environment = [
    "LATCHKEY_A": "8443", "LATCHKEY_B": "false", "LATCHKEY_C": "5", "LATCHKEY_D": "red", "LATCHKEY_E": "p",
    "LATCHKEY_F": "true", "LATCHKEY_G_X": "1e3", "LATCHKEY_H": "",
  ]
  var reader = try reader("{ a: 'x', b: true, c: 4, d: 'green', e: ['q'], g: { x: 'y' }, h: 'h' }", environment)
  #expect(try reader.text("a", "", "") == "8443")
  #expect(try !reader.flag("b", true, ""))
  #expect(try reader.integer("c", 3, 1...5, "") == 5)
  #expect(try reader.choice("d", Colour.green, "") == .red)
  #expect(try reader.texts("e", [], "") == ["p"])
  #expect(try reader.text("f", "", "") == "true")
  #expect(try reader.group("g") { group throws(ConfigurationError) in try group.text("x", "", "") } == "1e3")
  #expect(try reader.text("h", "", "") == "")
  try reader.finish()
}

@Test func `a list of groups has no variable, since a variable cannot name an element`() throws {
  var whole = try reader("{ list: [{ a: 'x' }] }", ["LATCHKEY_LIST": "x"])
  #expect(try whole.groups("list") { element throws(ConfigurationError) in try element.text("a", "", "") } == ["x"])
  #expect(!whole.variables.contains("LATCHKEY_LIST"))
  var element = try reader("{ list: [{ a: 'x' }] }", ["LATCHKEY_LIST[0]_A": "y", "LATCHKEY_LIST_A": "y"])
  #expect(
    try element.groups("list") { element throws(ConfigurationError) in try element.text("a", "", "") } == ["x"])
}

@Test func `an error names the variable only if the value comes from it`() throws {
  let environment = ["LATCHKEY_G_PORT": "tcp://10.0.0.1:80", "LATCHKEY_H": "x"]
  var both = try reader("{ g: { port: 1, other: 'x' }, h: {} }", environment)
  let port = refusal {
    try both.group("g") { group throws(ConfigurationError) in try group.integer("port", 1, 1...9, "") }
  }
  #expect(port?.description == "g.port: it must be a number (LATCHKEY_G_PORT is set)")
  try both.group("h") { _ in }
  #expect(!both.variables.contains("LATCHKEY_H"), "a group has no variable")
  var file = try reader("{ g: { other: 'x' } }", environment)
  let other = refusal {
    try file.group("g") { group throws(ConfigurationError) in try group.integer("other", 1, 1...9, "") }
  }
  #expect(other?.description == "g.other: it must be a number")
}

@Test func `a number or a flag in a file is not accepted as text`() throws {
  for value in ["1", "true", "[]"] {
    var reader = try reader("{ a: \(value) }")
    #expect(refusal { try reader.text("a", "", "") }?.setting == "a")
  }
}

@Test func `every setting that is read has a line with its default and its meaning`() throws {
  var reader = try reader("{ group: { a: 'x' }, list: [] }")
  _ = try reader.group("group") { group throws(ConfigurationError) in try group.text("a", "d", "what it is") }
  _ = try reader.choice("c", Colour.green, "which")
  _ = try reader.groups("none") { element throws(ConfigurationError) in try element.texts("t", ["x", "y"], "some") }
  _ = try reader.integer("n", 2, 1...64, "how many")
  #expect(reader.lines.map(\.path) == ["group.a", "c", "none[].t", "n"])
  #expect(reader.lines.map(\.standard) == ["\"d\"", "\"green\"", "[\"x\", \"y\"]", "2"])
  #expect(reader.lines.map(\.meaning) == ["what it is", "which (red | green)", "some", "how many (1 to 64)"])
}
