import API
import Protobuf

extension FuzzTarget {
  /// Every request message. An accepted message is unpacked within the budget and encoded again with the same fields.
  /// An independent parser also rejects a rejected message. The first byte selects the message type.
  static let message = FuzzTarget("message", seeds: messageSeeds) { input in
    var reader = InputReader(input)
    let type = messages[Int(reader.byte()) % messages.count]
    checkMessage(type, reader.rest())
  }

  /// All requests, and messages with repeated fields of each kind, which no request has. The corpus selects a type by
  /// its number, so new requests follow those of `numbered`.
  static let messages = numbered + messageTypes.filter { type in
    let name = type.messageName
    return name.hasPrefix("latchkey.v1.") && name.hasSuffix("Request") && !numbered.contains { $0 == type }
  }

  private static let numbered: [any ProtobufMessage.Type] = [
    SignInRequest.self, ReauthenticateRequest.self, FetchProvidersRequest.self, LinkRequest.self, UnlinkRequest.self,
    CreateRequest.self, GetRequest.self, DeleteRequest.self, LookupRequest.self, CreateCustomTokenRequest.self,
    RefreshRequest.self, SignOutRequest.self, VerifyIdTokenRequest.self, GetSigningKeysRequest.self,
    HealthCheckRequest.self, ServerReflectionRequest.self, Session.self, ServerReflectionResponse.self,
    UpdateRequest.self, MergeRequest.self, StartFlowRequest.self, ListProvidersRequest.self, ImportAccountsRequest.self,
    ExportAccountsRequest.self, BackupRequest.self, SetCustomClaimsRequest.self, SetDisabledRequest.self,
    DeleteAccountRequest.self, ListRequest.self, RevokeSessionsRequest.self, RemoveSecondFactorsRequest.self,
    UnlinkProviderRequest.self, RevokeAllRequest.self, ListSessionsRequest.self, SendEmailVerificationRequest.self,
    ConfirmEmailRequest.self, SendEmailCodeRequest.self, SendEmailChangeRequest.self, SendEmailLinkRequest.self,
    SendPasswordResetRequest.self, ResetPasswordRequest.self, CheckCodeRequest.self, SendPhoneCodeRequest.self,
    StartSecondFactorRequest.self, FinishSecondFactorRequest.self, StartEnrollmentRequest.self,
    FinishEnrollmentRequest.self, WithdrawRequest.self, WatchRequest.self, ExportAccountsResponse.self,
    WatchResponse.self,
  ]

  private static func checkMessage<M: ProtobufMessage>(_ type: M.Type, _ bytes: [UInt8]) {
    let reference = Reference.read(bytes, as: M.messageName)
    let arena = Arena(budgetBytes: 8 * 65_536)
    let name = M.messageName
    do {
      let value = try M.decode(bytes.span, arena: arena)
      let written = value.encodeBare(arena: arena)
      law(reference != nil, "\(name) was accepted, and is malformed")
      law(reference == Reference.read(written, as: name), "\(name) lost a field")
      let again = try? M.decode(written.span, arena: arena)
      law(again?.encodeBare(arena: arena) == written, "\(name) does not read what it wrote")
    } catch .malformed(.unpack) {
      law(false, "\(name) passed the scan but was not unpacked")
    } catch .tooLarge {
      law(bytes.count > 4_096, "\(name) of \(bytes.count) bytes is too large")
    } catch {
      law(reference == nil, "\(name) was rejected as \(error) but is well-formed")
    }
    checkBudget(type, bytes)
  }

  /// A nearly exhausted budget has the same result as an ample one, or reports that it is too small.
  private static func checkBudget<M: ProtobufMessage>(_ type: M.Type, _ bytes: [UInt8]) {
    do {
      _ = try M.decode(bytes.span, arena: Arena(budgetBytes: 256 + bytes.count))
    } catch {
      law(error != .malformed(.unpack), "\(M.messageName) passed the scan but did not fit its budget")
    }
  }
}
