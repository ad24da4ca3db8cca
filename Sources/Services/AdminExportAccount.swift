internal import API
internal import GRPC
internal import Identity
internal import Protobuf

extension AdminService {
  var exportAccount: Method {
    Method(
      AdminRPC.exportAccount.path, timeLimitMillis: AdminService.batchesMillisMax,
      .stream(fromClient: false) { [shared] context in ExportingAccount(shared, context) })
  }
}

/// The handler of ExportAccount. Sends the next part when the client has received the previous one.
private final class ExportingAccount: StreamHandler {
  private let shared: HandlerContext
  private let context: CallContext
  private var export: ExportAccount?
  private var progress = ExportAccount.Progress()

  init(_ shared: HandlerContext, _ context: CallContext) {
    self.shared = shared
    self.context = context
  }

  func received(_ message: Message, arena: Arena) throws -> StreamStep {
    let span = message.bytes.span.extracting(message.start..<message.end)
    let request = try ExportAccountRequest.decode(span, arena: arena)
    export = ExportAccount(
      shared.environment, accountID: try Shape.accountID(request.accountID, "account_id"),
      try shared.facts(context, message))
    return StreamStep()
  }

  func nextWork(nowMillis: Int64) -> StreamWork? {
    guard let export, !progress.isOver else { return nil }
    return { [progress] in try await export.next(after: progress) }
  }

  func worked(_ result: any Sendable, nowMillis: Int64, arena: Arena) throws -> StreamStep {
    guard let part = result as? (text: String, progress: ExportAccount.Progress) else { return StreamStep() }
    progress = part.progress
    return StreamStep([ExportAccountResponse(jsonPart: part.text).encode(arena: arena)], isLast: progress.isOver)
  }
}
