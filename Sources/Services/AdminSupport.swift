internal import API
internal import Encodings
internal import Identity
internal import Protobuf
internal import Store

// The methods of AdminService that help a user: events, diagnosis, blocks, sessions and messages.

extension AdminService {
  var supportMethods: [Method] {
    [listEvents, diagnoseSignIn, unlock, listSessions, listMessages, resendMessage]
  }

  private var listEvents: Method {
    .unary(AdminRPC.listEvents, isLookUp: true) { request, _, _, _ in
      let order = try Shape.listEvents(request)
      let list = ListEvents(shared.environment)
      return .task {
        let page = try await list(order)
        return ListEventsResponse(
          events: page.events.map(API.AccountEvent.init), nextPageToken: page.nextToken ?? "",
          accountID: page.accountID)
      }
    }
  }

  private var diagnoseSignIn: Method {
    .unary(AdminRPC.diagnoseSignIn, isLookUp: true) { request, _, _, _ in
      let subject: AccountSubject =
        switch request.subject {
        case .accountID(let id): .accountID(try Shape.accountID(id, "account_id"))
        case .email(let address): .email(try Shape.email(address, "email"))
        case .phoneNumber(let number): .phoneNumber(try Shape.phoneNumber(number, "phone_number"))
        case nil: throw Shape.invalid("subject", "Set one of the fields of subject.")
        }
      let diagnose = DiagnoseSignIn(shared.environment)
      return .task { DiagnoseSignInResponse(try await diagnose(subject)) }
    }
  }

  private var unlock: Method {
    .unary(AdminRPC.unlock) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let subject: AccountSubject =
        switch request.subject {
        case .accountID(let id): .accountID(try Shape.accountID(id, "account_id"))
        case .email(let address): .email(try Shape.email(address, "email"))
        case .phoneNumber(let number): .phoneNumber(try Shape.phoneNumber(number, "phone_number"))
        case nil: throw Shape.invalid("subject", "Set one of the fields of subject.")
        }
      let unlock = Unlock(shared.environment)
      return .task { UnlockResponse(lifted: try await unlock(subject, call).map(API.UserBlock.init)) }
    }
  }

  private var listSessions: Method {
    .unary(AdminRPC.listSessions, isLookUp: true) { request, _, _, arena in
      let reading = ListAccountSessions(
        shared.environment, accountID: try Shape.accountID(request.accountID, "account_id"),
        endedToo: request.includeEnded)
      return try shared.read(reading, arena) { sessions in
        AdminServiceListSessionsResponse(sessions: sessions.map(AccountSession.init))
      }
    }
  }

  private var listMessages: Method {
    .unary(AdminRPC.listMessages, isLookUp: true) { request, _, _, arena in
      let reading = ListMessages(
        shared.environment, accountID: try Shape.accountID(request.accountID, "account_id"))
      return try shared.read(reading, arena) { ListMessagesResponse(messages: $0.map(API.AccountMessage.init)) }
    }
  }

  private var resendMessage: Method {
    .unary(AdminRPC.resendMessage) { request, message, context, _ in
      let call = try shared.facts(context, message)
      let id = try Shape.required(request.messageID, "message_id", bytesMax: Shape.messageIDBytesMax)
      let resend = ResendMessage(shared.environment)
      return .task { ResendMessageResponse(message: API.AccountMessage(try await resend(id, call))) }
    }
  }
}

extension Shape {
  fileprivate static let messageIDBytesMax = 128

  fileprivate static func listEvents(_ request: API.ListEventsRequest) throws -> Identity.ListEventsRequest {
    let subject: AccountSubject =
      switch request.subject {
      case .accountID(let id): .accountID(try accountID(id, "account_id"))
      case .email(let address): .email(try email(address, "email"))
      case nil: throw invalid("subject", "Set one of the fields of subject.")
      }
    let size = Int(request.pageSize)
    guard 0...ListEvents.rowsMax ~= size else {
      throw invalid("page_size", "Send 1 to \(ListEvents.rowsMax), or 0 for \(ListEvents.usualRows).")
    }
    guard request.types.isEmpty || !request.failuresOnly else {
      throw invalid("failures_only", "Set only one of types and failures_only.")
    }
    return Identity.ListEventsRequest(
      subject: subject, since: request.sinceMillis.map { Timestamp(millis: $0) }, types: try eventTypes(request.types),
      failuresOnly: request.failuresOnly, rowsMax: size == 0 ? ListEvents.usualRows : size,
      pageToken: try text(request.pageToken, "page_token", bytesMax: pageTokenBytesMax))
  }
}

// MARK: Responses

extension Event {
  init(_ record: AuditRecord) {
    self.init(
      eventID: record.id, type: AuditEvent(rawValue: record.event)?.type ?? .unspecified,
      occurredAtMillis: record.at.millis, accountID: record.accountID, caller: record.caller.text,
      detailsJSON: record.detailsJSON)
  }
}

extension API.AccountEvent {
  fileprivate init(_ event: Identity.AccountEvent) {
    switch event {
    case .event(let record): self.init(kind: .event(Event(record)))
    case .failures(let record): self.init(kind: .failures(FailedAttempts(record)))
    }
  }
}

extension FailedAttempts {
  /// Enough of the digest to distinguish the devices of an account.
  private static let digestBytes = 8

  fileprivate init(_ record: FailureRecord) {
    let device = record.device.map { Hexadecimal.encode(Array($0.bytes.prefix(FailedAttempts.digestBytes))) }
    self.init(
      count: Int32(clamping: record.count), firstAtMillis: record.firstAt.millis, lastAtMillis: record.lastAt.millis,
      reason: ErrorReason(name: record.reason) ?? .unspecified, call: record.call, signInMethod: record.method,
      limit: record.limit, caller: record.caller.text, network: record.network,
      deviceDigest: device.map { String(decoding: $0, as: UTF8.self) } ?? "")
  }
}

extension API.UserBlock {
  fileprivate init(_ block: Identity.UserBlock) {
    self.init(limit: block.kind.rawValue, untilMillis: block.until.millis)
  }
}

extension AccountSession {
  fileprivate init(_ session: SessionRecord) {
    self.init(
      sessionID: session.id, caller: session.caller.text, signInProvider: session.signInProviderID,
      secondFactor: session.secondFactor ?? "", signedInAtMillis: session.authTime.millis,
      lastUsedAtMillis: session.lastUsedAt.millis,
      expiresAtMillis: min(session.idleExpiresAt, session.expiresAt).millis,
      endedAtMillis: session.closed?.at.millis, endReason: session.closed?.reason.rawValue ?? "",
      client: ClientContext(
        ipAddress: session.ipAddress, userAgent: session.userAgent, deviceID: session.deviceID))
  }
}

extension API.AccountMessage {
  fileprivate init(_ message: Identity.AccountMessage) {
    self.init(
      messageID: message.id, kind: message.kind, channel: message.channel.rawValue,
      maskedRecipient: message.maskedRecipient, createdAtMillis: message.createdAt.millis,
      attempts: Int32(clamping: message.attempts))
    switch message.state {
    case .waiting(let nextAttemptAt, let error):
      (state, nextAttemptAtMillis, self.error, canResend) = (.waiting, nextAttemptAt.millis, error ?? "", true)
    case .sent(let at): (state, settledAtMillis) = (.sent, at.millis)
    case .givenUp(let at, let reason, let canResend):
      (state, settledAtMillis, error, self.canResend) = (.givenUp, at.millis, reason, canResend)
    }
  }
}

extension OpenPending {
  fileprivate init(_ row: PendingRecord) {
    self.init(
      purpose: row.purpose.rawValue, providerID: row.identity.providerID, caller: row.caller.text,
      createdAtMillis: row.createdAt.millis, expiresAtMillis: row.expiresAt.millis,
      attemptsLeft: Int32(clamping: row.attemptsLeft))
  }
}

extension DiagnoseSignInResponse {
  fileprivate init(_ diagnosis: SignInDiagnosis) {
    self.init(
      cause: API.SignInCause(name: diagnosis.cause.rawValue) ?? .unspecified, summary: diagnosis.summary,
      advice: diagnosis.advice, account: diagnosis.state.map(API.Account.init),
      removedAccount: diagnosis.closed.map {
        RemovedAccount(removedAtMillis: $0.closedAt.millis, mergedInto: $0.survivorID)
      },
      signInMethods: diagnosis.methods, passwordUsable: diagnosis.passwordIsUsable,
      blocks: diagnosis.blocks.map(API.UserBlock.init), failures: diagnosis.failures.map(FailedAttempts.init),
      messages: diagnosis.messages.map(API.AccountMessage.init), pendings: diagnosis.pendings.map(OpenPending.init),
      sessions: diagnosis.sessions.map(AccountSession.init))
  }
}
