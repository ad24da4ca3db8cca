internal import API
internal import Identity

// The method of AdminService about an application of Apple that moves to another team.

extension AdminService {
  var transferMethods: [Method] { [setTransferSubjects] }

  private var setTransferSubjects: Method {
    batch(AdminRPC.setTransferSubjects) { request, call in
      let rows = try Shape.transferRows(request.rows)
      let set = SetTransferSubjects(shared.environment)
      return .task {
        let verdicts = try await set(rows, call)
        return SetTransferSubjectsResponse(
          changed: Int32(clamping: verdicts.count { $0 == .done }),
          unchanged: Int32(clamping: verdicts.count { $0 == .unchanged }),
          errors: TransferError.list(verdicts, rows))
      }
    }
  }
}

extension TransferError {
  fileprivate static func list(
    _ verdicts: [AccountBatch.Verdict], _ rows: [SetTransferSubjects.Row]
  ) -> [TransferError] {
    zip(verdicts, rows).enumerated().compactMap { row, pair in
      guard case .refused(let failure) = pair.0 else { return nil }
      return TransferError(
        row: Int32(clamping: row), subject: pair.1.subject, reason: ErrorReason(failure.reason), message: failure.hint)
    }
  }
}

extension Shape {
  fileprivate static func transferRows(_ rows: [TransferRow]) throws -> [SetTransferSubjects.Row] {
    guard 1...SetTransferSubjects.rowsMax ~= rows.count else {
      throw invalid("rows", "Send 1 to \(SetTransferSubjects.rowsMax) rows.")
    }
    return try rows.map { row in
      SetTransferSubjects.Row(
        subject: try required(row.subject, "rows.subject", bytesMax: subjectBytesMax),
        transferSubject: try required(row.transferSubject, "rows.transfer_subject", bytesMax: subjectBytesMax))
    }
  }
}
