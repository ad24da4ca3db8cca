import FoundationEssentials
import GRPC
import Identity
import Testing

@testable import Services

// Checks that the documented reasons and events are those of the code.

/// The cells of a table's rows, starting with its first cell.
private func rows(of path: String) throws -> [[String]] {
  let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
  let bytes = try #require(FileManager.default.contents(atPath: root + "/" + path))
  return String(decoding: bytes, as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("| `") }.map { line in
    line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
      .map { $0.filter { $0 != "`" }.split(separator: " ").joined(separator: " ") }
  }
}

@Test func `the table of reasons has each one once, in their order, with its status`() throws {
  let names: [Int: String] = [
    1: "CANCELLED", 3: "INVALID_ARGUMENT", 4: "DEADLINE_EXCEEDED", 5: "NOT_FOUND", 6: "ALREADY_EXISTS",
    7: "PERMISSION_DENIED", 8: "RESOURCE_EXHAUSTED", 9: "FAILED_PRECONDITION", 14: "UNAVAILABLE", 16: "UNAUTHENTICATED",
  ]
  let expected = Failure.Reason.allCases.map { [$0.rawValue, names[Failures.code(of: $0).rawValue]] }
  let written = try rows(of: "proto/ERRORS.md")
  #expect(written.map { $0.prefix(2).map(Optional.some) } == expected)
  #expect(written.allSatisfy { $0.count == 4 && !$0[3].isEmpty })
}

@Test func `the table of events has each type once, in their order`() throws {
  let written = try rows(of: "proto/EVENTS.md")
  #expect(written.map(\.first) == AuditEvent.allCases.map(\.rawValue))
  #expect(written.allSatisfy { $0.count == 3 && !$0[2].isEmpty })
}
