import Testing

@testable import GRPC

private let table = MethodTable<Int>([("/a.B/C", 1), ("/a.B/D", 2), ("/a.BC/D", 3)])

@Test func `R4: a path is found exactly`() {
  #expect(table[bytes("/a.B/C")] == 1)
  #expect(table[bytes("/a.B/D")] == 2)
  #expect(table[bytes("/a.BC/D")] == 3)
}

@Test(arguments: ["/a.B/c", "/A.B/C", "a.B/C", "/a.B/C/", "//a.B/C", "/a.B/C ", "/a.B", "/a.B/", "/", "*", ""])
func `R4: a path that is nearly right is none`(path: String) {
  #expect(table[bytes(path)] == nil)
}

@Test func `every entry of a large table is found, and nothing beside them`() {
  let large = MethodTable((0..<500).map { (path: "/service/\($0)", entry: $0) })
  for number in 0..<500 { #expect(large[bytes("/service/\(number)")] == number) }
  for number in 500..<2000 { #expect(large[bytes("/service/\(number)")] == nil) }
}

@Test func `a table without entries finds nothing`() {
  #expect(MethodTable<Int>([])[bytes("/a.B/C")] == nil)
}

@Test func `a path that is served twice stops the start`() async {
  await #expect(processExitsWith: .failure) {
    _ = MethodTable<Int>([("/a.B/C", 1), ("/a.B/C", 2)])
  }
}
