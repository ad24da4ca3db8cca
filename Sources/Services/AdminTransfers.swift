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
        let outcome = rows.outcome(try await set(rows.valid, call))
        return SetTransferSubjectsResponse(
          changed: outcome.changed, unchanged: outcome.unchanged, errors: TransferError.list(outcome))
      }
    }
  }
}

extension TransferError {
  fileprivate static func list(_ outcome: BatchOutcome) -> [TransferError] {
    outcome.refused.map { row, subject, failure in
      TransferError(row: row, subject: subject, reason: ErrorReason(failure.reason), message: failure.hint)
    }
  }
}

extension Shape {
  fileprivate static func transferRows(_ rows: [TransferRow]) throws -> BatchRows<SetTransferSubjects.Row> {
    guard 1...SetTransferSubjects.rowsMax ~= rows.count else {
      throw invalid("rows", "Send 1 to \(SetTransferSubjects.rowsMax) rows.")
    }
    return try BatchRows(rows, name: \.subject) { row in
      SetTransferSubjects.Row(
        subject: try required(row.subject, "rows.subject", bytesMax: subjectBytesMax),
        transferSubject: try required(row.transferSubject, "rows.transfer_subject", bytesMax: subjectBytesMax))
    }
  }
}
