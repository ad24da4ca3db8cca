import FoundationEssentials
import API
import GRPC
import Identity
import Import
import Protobuf
import Store
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

/// The names of the enum's values but the unspecified one, in their order.
private func names<Enum: ProtobufEnum>(_: Enum.Type) -> [String] {
  Enum.allCases.map(\.name).filter { $0 != "UNSPECIFIED" }
}

@Test func `proto has a value for each reason and each type of event, and no other`() {
  #expect(names(ErrorReason.self) == Failure.Reason.allCases.map(\.rawValue))
  #expect(Failure.Reason.allCases.map { ErrorReason($0).name } == names(ErrorReason.self))
  #expect(names(EventType.self) == AuditEvent.allCases.map(\.rawValue))
  #expect(AuditEvent.allCases.map(\.type.name) == names(EventType.self), "by name, as Watch filters them")
}

@Test func `proto has a value for each member of the domain's other closed sets`() throws {
  #expect(Set(StoredFactorKind.allCases.map { API.FactorKind($0) }).count == API.FactorKind.allCases.count - 1)
  #expect(try StoredFactorKind.allCases.allSatisfy { try Shape.factorKind(API.FactorKind($0)) == $0 })
  #expect(
    Set(MasterKeyStatus.State.allCases.map { MasterKeyState($0) }).count == MasterKeyState.allCases.count - 1)
  #expect(Set(Identity.CodeMode.allCases.map { API.CodeMode($0) }).count == API.CodeMode.allCases.count - 1)
  #expect(Set(Identity.AccountExists.Reason.allCases.map { ConflictReason($0) }) == Set(ConflictReason.allCases))
  #expect(Set(PendingPurpose.allCases.map { PendingCredentialPurpose($0) }) == Set(PendingCredentialPurpose.allCases))
  #expect(Set(StartedFlow.ResponseMode.allCases.map { ResponseMode($0) }).count == ResponseMode.allCases.count - 1)
  #expect(names(HashAlgorithm.self) == ForeignHashAlgorithm.allCases.map(\.rawValue))
  for algorithm in HashAlgorithm.allCases {
    #expect(try Shape.hashAlgorithm(algorithm)?.rawValue ?? "UNSPECIFIED" == algorithm.name)
  }
}

@Test func `a number that proto does not define is rejected with its field`() {
  func field(_ body: () throws -> some Any) -> String? { #expect(throws: Failure.self) { try body() }?.field }
  #expect(field { try Shape.factorKind(nil) } == "kind")
  #expect(field { try Shape.factorKind(.unspecified) } == "kind")
  #expect(field { try Shape.eventTypes([.linked, nil]) } == "types")
  #expect(field { try Shape.eventTypes([.unspecified]) } == "types")
  #expect(field { try Shape.hashAlgorithm(nil) } == "options.hash.algorithm")
  #expect(field { try Shape.saltFirst(nil) } == "options.hash.input_order")
}
