import Testing

@testable import GRPC

private let table = MethodTable(["/a.B/C", "/a.B/D", "/a.BC/D"])

@Test func `R4: a path must match exactly`() {
  #expect(table[bytes("/a.B/C")] == 0)
  #expect(table[bytes("/a.B/D")] == 1)
  #expect(table[bytes("/a.BC/D")] == 2)
}

@Test(arguments: ["/a.B/c", "/A.B/C", "a.B/C", "/a.B/C/", "//a.B/C", "/a.B/C ", "/a.B", "/a.B/", "/", "*", ""])
func `R4: a path that is nearly right is not found`(path: String) {
  #expect(table[bytes(path)] == nil)
}

@Test func `every entry of a large table is found, and no other path`() {
  let large = MethodTable((0..<500).map { "/service/\($0)" })
  for number in 0..<500 { #expect(large[bytes("/service/\(number)")] == number) }
  for number in 500..<2000 { #expect(large[bytes("/service/\(number)")] == nil) }
}

@Test func `a table without entries finds nothing`() {
  #expect(MethodTable([])[bytes("/a.B/C")] == nil)
}

@Test func `a duplicate path stops the start`() async {
  await #expect(processExitsWith: .failure) {
    _ = MethodTable(["/a.B/C", "/a.B/C"])
  }
}
