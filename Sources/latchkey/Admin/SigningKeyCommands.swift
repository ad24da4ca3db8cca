import API
import ArgumentParser
import Encodings
import Reactor
import Tokens

struct KeysList: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Show the keys that sign tokens, with their state and age.",
    discussion: """
      latchkey keys list

      A key waits for an hour, signs, and stays published for another hour after it has retired.
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(AdminRPC.listSigningKeys, ListSigningKeysRequest())
    return Report(answer.keys.map(\.line), [answer.keys.member])
  }
}

struct KeysRotate: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate", abstract: "Publish a new signing key, which takes over after an hour.",
    discussion: """
      latchkey keys rotate

      Verifiers have the key before it signs, so no token fails. If the current key may be stolen, revoke it instead.
      """)

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(AdminRPC.rotateSigningKeys, RotateSigningKeysRequest())
    let first = answer.newKeyID.isEmpty
      ? "Unchanged: a new key waits already." : "Published: key \(printable(answer.newKeyID))"
    return Report([first] + answer.keys.map { "  " + $0.line }, [
      JSONMember("outcome", .string(answer.newKeyID.isEmpty ? "unchanged" : "rotated")),
      JSONMember("new_key_id", .string(answer.newKeyID)), answer.keys.member,
    ])
  }
}

struct KeysRevoke: ServiceCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Remove a stolen signing key immediately. Its tokens are invalid.",
    discussion: """
      latchkey keys list                               # shows the IDs
      latchkey keys revoke KEY_ID

      Sessions continue: clients get a new ID token with their next refresh. If the key signs, a successor signs \
      immediately. Services that verify tokens by themselves must fetch the keys again.
      """)

  @Argument(help: "Key ID, the `kid` of its tokens.") var keyID: String

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let answer = try context.call(AdminRPC.revokeSigningKey, RevokeSigningKeyRequest(keyID: keyID))
    let (servers, verifiers) = (answer.serversRejectAtMillis, answer.verifiersRejectAtMillis)
    return Report([
      "Revoked: key \(printable(keyID))",
      answer.successorKeyID.isEmpty
        ? "  Successor: none needed" : "  Successor: key \(printable(answer.successorKeyID))",
      "  All servers reject its tokens from: \(servers.map(rfc3339) ?? "an unknown time")",
      "  Verifiers with cached keys reject them from: \(verifiers.map(rfc3339) ?? "an unknown time")",
    ] + answer.keys.map { "  " + $0.line }, [
      JSONMember("outcome", .string("revoked")), JSONMember("key_id", .string(keyID)),
      JSONMember("successor_key_id", .string(answer.successorKeyID)),
      JSONMember("servers_reject_at", .moment(servers)), JSONMember("verifiers_reject_at", .moment(verifiers)),
      answer.keys.member,
    ])
  }
}

extension [SigningKeyInfo] {
  fileprivate var member: JSONMember { JSONMember("keys", .array(map(\.json))) }
}

extension SigningKeyInfo {
  fileprivate var line: String {
    let state = state.map { $0.word.lowercased() } ?? "unknown"
    var line = "\(printable(keyID)) \(printable(algorithm)) \(state), from \(activeFromMillis.map(rfc3339) ?? "-")"
    if let retiredAtMillis { line += " to \(rfc3339(retiredAtMillis))" }
    if let ageMillis { line += ", age \(KeyAge.text(seconds: ageMillis / 1_000))" }
    return line
  }

  fileprivate var json: JSONValue {
    .object([
      JSONMember("key_id", .string(keyID)), JSONMember("algorithm", .string(algorithm)),
      JSONMember("state", .lowercaseWord(state)), JSONMember("published_at", .moment(publishedAtMillis)),
      JSONMember("active_from", .moment(activeFromMillis)), JSONMember("retired_at", .moment(retiredAtMillis)),
      JSONMember("age_seconds", ageMillis.map { .int($0 / 1_000) } ?? .null),
    ])
  }
}

private enum KeyAge {
  /// Formats an age in its largest unit.
  static func text(seconds: Int64) -> String {
    switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3_600: "\(seconds / 60) min"
    case ..<86_400: "\(seconds / 3_600) h"
    default: "\(seconds / 86_400) d"
    }
  }
}
