import Glibc
import Testing

@testable import API
@testable import Protobuf

@Test func `reflection lists exactly the services of proto`() {
  #expect(
    DescriptorSet.services == [
      "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
      "latchkey.v1.AccountService", "latchkey.v1.AdminService", "latchkey.v1.AuthService",
      "latchkey.v1.EventService", "latchkey.v1.PasskeyService", "latchkey.v1.ProviderFlowService",
      "latchkey.v1.SecondFactorService", "latchkey.v1.SessionService", "latchkey.v1.VerificationService",
    ])
}

@Test(arguments: [
  ("latchkey.v1.AuthService", "latchkey/v1/auth_service.proto"),
  ("latchkey.v1.AuthService.SignIn", "latchkey/v1/auth_service.proto"),
  ("latchkey.v1.Credential", "latchkey/v1/types.proto"),
  ("google.rpc.BadRequest.FieldViolation", "google/rpc/error_details.proto"),
  ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
  ("grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"),
  ("grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo", "grpc/reflection/v1alpha/reflection.proto"),
])
func `a symbol is found in the file that declares it`(symbol: String, name: String) throws {
  let file = try #require(DescriptorSet.file(containingSymbol: symbol))
  #expect(file.name == name)
  #expect(DescriptorSet.file(named: name) == file)
}

@Test func `an undeclared symbol is not found`() {
  #expect(DescriptorSet.file(containingSymbol: "latchkey.v1.Nothing") == nil)
  #expect(DescriptorSet.file(containingSymbol: "latchkey.v1") == nil)
  #expect(DescriptorSet.file(containingSymbol: "") == nil)
  #expect(DescriptorSet.file(named: "types.proto") == nil)
}

@Test func `hooks, which other servers implement, are not served`() {
  #expect(DescriptorSet.file(named: "latchkey/hooks/v1/hooks.proto") == nil)
  #expect(DescriptorSet.file(containingSymbol: "latchkey.hooks.v1.HookService") == nil)
}

@Test func `what the store keeps sealed is not served`() {
  #expect(DescriptorSet.file(named: "latchkey/storage/v1/sealed.proto") == nil)
  #expect(DescriptorSet.file(containingSymbol: "latchkey.storage.v1.PendingFlow") == nil)
}

@Test func `a file is returned with all its imports, each once`() throws {
  let file = try #require(DescriptorSet.file(named: "latchkey/v1/admin_service.proto"))
  let names = DescriptorSet.withDependencies(file).map(\.name)
  #expect(names.first == file.name)
  #expect(
    names.dropFirst().sorted() == [
      "google/protobuf/duration.proto", "google/protobuf/field_mask.proto", "google/protobuf/timestamp.proto",
      "latchkey/v1/admin_accounts.proto", "latchkey/v1/admin_signing_keys.proto", "latchkey/v1/admin_support.proto",
      "latchkey/v1/admin_transfers.proto", "latchkey/v1/errors.proto", "latchkey/v1/event_service.proto",
      "latchkey/v1/types.proto", "latchkey/v1/verification_service.proto",
    ])
}

@Test func `the generated code matches what the generator makes from proto`() {
  let script = """
    set -e; cd '/\(root)'; made=$(mktemp -d); trap 'rm -rf "$made"' EXIT
    deploy/gen "$made"
    for each in C/Messages {API,Sealed,Telemetry,HookMessages}/Generated; do
      diff -r --exclude=module.modulemap "$made/Sources/$each" "Sources/$each"
    done
    """
  #expect(unsafe system("bash -c '\(script.replacing("'", with: "'\\''"))'") == 0)
}

/// By a digest, because its generators take minutes to build.
@Test func `the generated code of the Swift client is not older than proto`() {
  #expect(unsafe system("'/\(root)/deploy/clients/swift/generate' --check") == 0)
}

private let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
