internal import Encodings
internal import GRPC
internal import Identity
internal import Store
internal import Synchronization
internal import API
internal import Protobuf

extension AdminService {
  var exportAccounts: Method {
    Method(
      AdminRPC.exportAccounts.path, timeLimitMillis: AdminService.batchesMillisMax,
      .stream(fromClient: false) { [shared] context in Exporting(shared, context) })
  }
}

/// The handler of ExportAccounts. Sends the next batch when the client has received the previous one.
private final class Exporting: StreamHandler {
  private let shared: HandlerContext
  private let context: CallContext
  private var book: ExportBook?

  init(_ shared: HandlerContext, _ context: CallContext) {
    self.shared = shared
    self.context = context
  }

  func received(_ message: Message, arena: Arena) throws -> StreamStep {
    let span = message.bytes.span.extracting(message.start..<message.end)
    let request = try ExportAccountsRequest.decode(span, arena: arena)
    book = ExportBook(
      ExportAccounts(shared.environment, try shared.facts(context, message), includesSecrets: request.includeSecrets))
    return StreamStep()
  }

  func nextWork(nowMillis: Int64) -> StreamWork? {
    guard let book else { return nil }
    return { try await book.next() }
  }

  func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep {
    guard let batch = result as? ExportAccountsResponse else { return StreamStep() }
    return StreamStep([batch.encode(arena: arena)], isLast: book?.isOver ?? true)
  }
}

/// The progress of an export.
private final class ExportBook: Sendable {
  private struct Place {
    var afterID: String?
    var isOver = false
  }

  private let export: ExportAccounts
  private let place = Mutex(Place())

  init(_ export: ExportAccounts) { self.export = export }

  var isOver: Bool { place.withLock(\.isOver) }

  func next() async throws -> ExportAccountsResponse {
    let page = try await export.page(after: place.withLock(\.afterID))
    place.withLock { place in
      place.afterID = page.accounts.last?.account.id
      place.isOver = page.nextToken == nil
    }
    return ExportAccountsResponse(accounts: page.accounts.map { ExportedAccount($0, export) })
  }
}

extension ExportedAccount {
  fileprivate init(_ state: AccountState, _ export: ExportAccounts) {
    self.init(account: API.Account(state))
    guard export.includesSecrets else { return }
    passwordHash = state.account.passwordHash ?? ""
    account?.providers = API.Account.providers(state, includingRecords: true)
    account?.secondFactors = state.factors.map { factor in
      var hint = SecondFactorHint(factor)
      hint.maskedPhoneNumber = factor.phoneNumber ?? ""
      hint.passkeyRecord = export.passkeyRecord(of: factor).map { Base64URL.encode($0) } ?? ""
      return hint
    }
  }
}
