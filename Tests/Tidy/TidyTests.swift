import FoundationEssentials
import Testing

// Style checks. Each test lists the places that break its rule.

/// Collects `path:line` for each line of code that `isWrong` matches.
private func places(
  in files: [TextFile], where isWrong: (_ code: String, _ file: TextFile) -> Bool
) -> [String] {
  files.flatMap { file in
    file.code.enumerated().filter { isWrong($1, file) }.map { "\(file.path):\($0.offset + 1)" }
  }
}

@Test func `the checks see the whole tree`() {
  #expect(Set(Tree.sources.compactMap(\.module)) == Set(Layers.all.map(\.module)))
  #expect(Tree.files.contains { $0.path.hasPrefix("Tests/") && $0.isSwift })
  #expect(Tree.files.contains { $0.path == "deploy/run" })
  #expect(Tree.files.contains { $0.path.hasSuffix(".proto") })
}

@Test func `the top level has the agreed entries, and no output of a build`() throws {
  let entries = try FileManager.default.contentsOfDirectory(atPath: Tree.root).filter { !$0.hasPrefix(".") }
  // Git ignores the resolved versions.
  let agreed: Set = ["Package.swift", "README.md", "Sources", "Tests", "deploy", "proto"]
  #expect(Set(entries).subtracting(["Package.resolved"]) == agreed)
}

@Test func `no line is longer than 120 columns, and none ends in blanks`() {
  let wrong = Tree.files.flatMap { file in
    file.lines.enumerated().filter { $1.count > 120 || $1.last?.isWhitespace == true }
      .map { "\(file.path):\($0.offset + 1)" }
  }
  #expect(wrong == [])
}

@Test func `no file is longer than 500 lines, and no source file longer than 408`() {
  let whole = [
    // Lists every setting.
    "deploy/latchkey.example.json5",
    // In many languages, code imports a message by the file that declares it, so messages stay in their file.
    "proto/latchkey/v1/admin_service.proto",
  ]
  #expect(Tree.files.filter { $0.lines.count > 501 && !whole.contains($0.path) }.map(\.path) == [])
  #expect(Tree.sources.filter { $0.lines.count > 409 }.map(\.path) == [])
}

@Test func `no function is longer than 70 lines, and no function in the sources longer than 60`() {
  let long = Tree.files.filter(\.isSwift).flatMap { file in
    Functions.lengths(file.code).filter { $0.length > (file.module == nil ? 70 : 60) }
      .map { "\(file.path):\($0.line) (\($0.length) lines)" }
  }
  #expect(long == [])
}

@Test func `the length of a function is the number of lines from its first to its last`() {
  let code = [
    "struct A {", "  func short() {}", "  func long(", "    a: Int", "  ) -> Int {", "    if a { 1 }", "  }",
    "  init() {", "    b = 1", "  }", "  var c: Int {", "    1", "  }", "  var d: Int", "  func required()", "}",
    "  @safe package(set) static var e = 1", "  initial()", "  let f = func_1", "  a.init()",
  ]
  let lengths = Functions.lengths(code).map { [$0.line, $0.length] }
  #expect(lengths == [[2, 1], [3, 5], [8, 3], [11, 3], [14, 1], [15, 1], [17, 1]])
}

@Test func `code is a file without comments and strings`() {
  let lines = [
    "import Store // why", "let a = \"try! // x\\\"y\" + b // c", "let text = \"\"\"", "  as! unsafe", "  \"\"\"",
    "let d = 1 / 2",
  ]
  let file = TextFile(path: "a.swift", text: lines.joined(separator: "\n"))
  #expect(file.code == ["import Store ", "let a =  + b ", "let text = ", "", "", "let d = 1 / 2"])
  #expect(file.imports == ["Store"])
}

@Test func `imports only point down`() {
  for (index, layer) in Layers.all.enumerated() {
    let below = Set(Layers.all[(index + 1)...].map(\.module))
    #expect(below.isSuperset(of: layer.ours), "\(layer.module) may import only modules below it")
  }
}

@Test func `a module imports what its layer allows, and nothing else`() {
  let astray = Tree.sources.flatMap { file -> [String] in
    guard let layer = Layers.layer(file.module) else { return [file.path] }
    return file.imports.filter { !(layer.ours + layer.c + layer.others).contains($0) }.map { "\(file.path): \($0)" }
  }
  #expect(astray == [])
}

@Test func `every import that a layer allows is used in its module`() {
  let idle = Layers.all.flatMap { layer in
    let imported = Set(Tree.sources.filter { $0.module == layer.module }.flatMap(\.imports))
    return (layer.ours + layer.c + layer.others).filter { !imported.contains($0) }.map { "\(layer.module): \($0)" }
  }
  #expect(idle == [])
}

@Test func `each C library has one importer, except the listed ones`() {
  let shared = [
    "COpenSSL": ["Crypto", "TLS"], "CLinux": ["Reactor", "StoreSQLite"],
    "CProtobufC": ["Protobuf"], "Messages": ["API", "Protobuf"], "CSodium": ["Crypto", "Encodings"],
  ]
  for library in Set(Layers.all.flatMap(\.c)) {
    let importers = Set(Tree.sources.filter { $0.imports.contains(library) }.compactMap(\.module))
    if let expected = shared[library] {
      #expect(importers.sorted() == expected)
    } else {
      #expect(importers.count == 1, "\(library) is imported by \(importers.sorted())")
    }
  }
}

@Test func `Foundation is not imported, and FoundationEssentials only to read JSON and configuration`() {
  let full = Tree.sources.filter { $0.imports.contains("Foundation") }.map(\.path)
  #expect(full == [])
  let homes = [
    "Sources/Configuration/", "Sources/latchkey-load/", "Sources/Delivery/",
  ]
  let essentials = Tree.sources.filter { $0.imports.contains("FoundationEssentials") }.map(\.path)
  #expect(!essentials.isEmpty)
  #expect(essentials.filter { path in !homes.contains(where: path.hasPrefix) } == [])
}

@Test func `unsafe code is only in wrappers of C, and around bytes of the wire`() {
  let wire = [
    "Sources/Transport/Connection.swift", "Sources/Transport/Worker.swift", "Sources/Client/Connection.swift",
    "Sources/Client/ByteChannel.swift",
    "Sources/Client/EventLoop.swift", "Sources/GRPC/HeaderText.swift",
  ]
  let unsafe = places(in: Tree.sources) { code, file in
    Layers.layer(file.module)?.wrapsC != true && !wire.contains(file.path) && code.contains(/\bunsafe\b/)
  }
  #expect(unsafe == [])
}

@Test func `no code forces a try or a cast`() {
  let forced = places(in: Tree.files.filter(\.isSwift)) { code, _ in
    code.utf8.contains(UInt8(ascii: "!")) && code.contains(/\btry!|\bas!/)
  }
  #expect(forced == [])
}

@Test func `no marker for unfinished work is left`() {
  // In two parts; otherwise the test would find this line.
  let words = ["TO" + "DO", "FIX" + "ME"]
  let left = Tree.files.flatMap { file in
    file.lines.enumerated().filter { line in words.contains { line.element.contains($0) } }
      .map { "\(file.path):\($0.offset + 1)" }
  }
  #expect(left == [])
}

@Test func `the compiler checks the thread safety of every type`() {
  #expect(places(in: Tree.sources) { code, _ in code.contains("@unchecked Sendable") } == [])
}

/// The wrappers of values and two containers are public, because the compiler inlines only public functions into other
/// modules.
@Test func `only the client has public declarations`() {
  let inlined = ["Store/Boxed.swift", "Reactor/SlotTable.swift", "Reactor/FIFOQueue.swift"].map { "Sources/\($0)" }
  let open = places(in: Tree.sources) { code, file in
    file.module != "Client" && !inlined.contains(file.path) && code.contains(/\bpublic\b/)
  }
  #expect(open == [])
}

@Test(arguments: Layers.all.map(\.module))
func `a module's first file states what it owns, what it does not, and where to read on`(module: String) throws {
  let layer = try #require(Layers.layer(module))
  let path = "Sources/\(module)/\(layer.firstFile)"
  let opening = try #require(Tree.sources.first { $0.path == path }, "\(path) is not there").opening
  #expect(opening.hasPrefix("// \(module)"))
  #expect(opening.contains(/\b(Owns:|owns)/))
  #expect(opening.contains(/\b(Does|does) not\s+(\/\/ )?own\b/))
  #expect(opening.contains(/\b(Read next|Next):/))
  let named = opening.matches(of: /[A-Za-z0-9\/]+\.swift/).map { String($0.output) }
  #expect(named.filter { !Tree.exists("Sources/\(module)/\($0)") && !Tree.exists("Sources/\($0)") } == [])
}

@Test func `GRPC knows none of the status codes that only the application may produce`() {
  let names = [
    "invalidArgument", "notFound", "alreadyExists", "failedPrecondition", "aborted", "outOfRange", "dataLoss",
  ]
  let grpc = Tree.sources.filter { $0.module == "GRPC" }
  #expect(places(in: grpc) { code, _ in names.contains(where: code.contains) } == [])
  #expect(places(in: grpc) { code, _ in code.contains(/rawValue: (3|5|6|9|10|11|15)\b/) } == [])
}
