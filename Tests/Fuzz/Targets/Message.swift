import API

extension FuzzTarget {
  /// Every request message: accepted means unpacked within the budget and written again with the same fields; refused
  /// means that an independent reading refuses it too. The first byte chooses the message.
  static let message = FuzzTarget("message", seeds: messageSeeds) { input in
    var reader = InputReader(input)
    let type = messages[Int(reader.byte()) % messages.count]
    checkMessage(type, reader.rest())
  }

  /// Every request that is served, and messages that have what no request has: repeated fields of each kind. New ones
  /// are put at the end, or the corpus would be of other messages.
  static let messages: [any ProtobufMessage.Type] = [
    SignInRequest.self, ReauthenticateRequest.self, FetchProvidersRequest.self, LinkRequest.self, UnlinkRequest.self,
    CreateRequest.self, GetRequest.self, DeleteRequest.self, LookupRequest.self, CreateCustomTokenRequest.self,
    RefreshRequest.self, SignOutRequest.self, VerifyIdTokenRequest.self, GetSigningKeysRequest.self,
    HealthCheckRequest.self, ServerReflectionRequest.self, Session.self, ServerReflectionResponse.self,
    UpdateRequest.self, MergeRequest.self, StartFlowRequest.self, ListProvidersRequest.self, ImportAccountsRequest.self,
    ExportAccountsRequest.self, BackupRequest.self, SetCustomClaimsRequest.self, SetDisabledRequest.self,
    DeleteAccountRequest.self, ListRequest.self, RevokeSessionsRequest.self, RemoveSecondFactorsRequest.self,
    UnlinkProviderRequest.self, RevokeAllRequest.self, ListSessionsRequest.self, SendEmailVerificationRequest.self,
    ConfirmEmailRequest.self, SendEmailChangeRequest.self, SendEmailLinkRequest.self, SendPasswordResetRequest.self,
    ResetPasswordRequest.self, CheckCodeRequest.self, SendPhoneCodeRequest.self, StartSecondFactorRequest.self,
    FinishSecondFactorRequest.self, StartEnrollmentRequest.self, FinishEnrollmentRequest.self, WithdrawRequest.self,
    WatchEventsRequest.self, ExportAccountsResponse.self, WatchEventsResponse.self,
  ]

  private static func checkMessage<M: ProtobufMessage>(_ type: M.Type, _ bytes: [UInt8]) {
    let reference = Reference.read(bytes, as: M.messageName)
    let arena = Arena(budgetBytes: 8 * 65_536)
    let name = M.messageName
    do {
      let value = try M.decode(bytes.span, arena: arena)
      let written = value.encodeBare(arena: arena)
      law(reference != nil, "\(name) was accepted, and is malformed")
      law(reference == Reference.read(written, as: name), "\(name) lost something on its way")
      let again = try? M.decode(written.span, arena: arena)
      law(again?.encodeBare(arena: arena) == written, "\(name) does not read what it wrote")
    } catch .malformed(.unpack) {
      law(false, "\(name) passed the scan and was not unpacked")
    } catch .tooLarge {
      law(bytes.count > 4_096, "\(name) of \(bytes.count) bytes is too large")
    } catch {
      law(reference == nil, "\(name) was refused as \(error), and is well-formed")
    }
    checkBudget(type, bytes)
  }

  /// A budget that is nearly spent refuses as one that is ample does, or says that it is too small.
  private static func checkBudget<M: ProtobufMessage>(_ type: M.Type, _ bytes: [UInt8]) {
    do {
      _ = try M.decode(bytes.span, arena: Arena(budgetBytes: 256 + bytes.count))
    } catch {
      law(error != .malformed(.unpack), "\(M.messageName) passed the scan and did not fit its budget")
    }
  }
}
