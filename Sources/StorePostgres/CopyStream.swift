import CPostgres

// COPY in its binary format, which transfers whole tables to and from the server.
//
// The stream is a header, then rows in the format of `StoredRows`, then a row of -1 columns. All calls block. The
// connection is not in pipeline mode.

extension ReadyConnection {
  /// Signature, flags, and the length of the extension area.
  private static let copyHead = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8)
  private static let copyEnd: [UInt8] = [0xFF, 0xFF]

  // MARK: To the server

  func beginCopyIn(_ sql: String) throws(Refusal) {
    try beginCopy(sql, PGRES_COPY_IN)
    try put(ReadyConnection.copyHead)
  }

  /// Sends rows. The server reports an invalid row at the end at the latest.
  func put(_ bytes: [UInt8]) throws(Refusal) {
    let isTaken = unsafe bytes.withUnsafeBytes { bytes in
      unsafe PQputCopyData(handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count)) == 1
    }
    guard isTaken else {
      try takeCopyResult()
      throw fault
    }
  }

  func endCopyIn() throws(Refusal) {
    try put(ReadyConnection.copyEnd)
    guard unsafe PQputCopyEnd(handle, nil) == 1 else { throw fault }
    try takeCopyResult()
  }

  // MARK: From the server

  func beginCopyOut(_ sql: String) throws(Refusal) { try beginCopy(sql, PGRES_COPY_OUT) }

  /// Returns one row, as libpq guarantees. The header precedes the first one. nil: no row is left.
  func nextCopied(isFirst: Bool) throws(Refusal) -> ArraySlice<UInt8>? {
    var start: UnsafeMutablePointer<CChar>?
    let count = unsafe PQgetCopyData(handle, &start, 0)
    guard count >= 0, let start = unsafe start else {
      try takeCopyResult()
      guard count == -1 else { throw fault }
      return nil
    }
    defer { unsafe PQfreemem(start) }
    let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(count)))
    let row = bytes.dropFirst(isFirst ? ReadyConnection.copyHead.count : 0)
    // The end of the rows precedes the end of the data. A header may come alone.
    return row.isEmpty || row.elementsEqual(ReadyConnection.copyEnd) ? try nextCopied(isFirst: false) : row
  }

  // MARK: Both directions

  var isLost: Bool { unsafe PQstatus(handle) != CONNECTION_OK }

  private func beginCopy(_ sql: String, _ wanted: ExecStatusType) throws(Refusal) {
    let result = unsafe PQexec(handle, sql)
    defer { unsafe PQclear(result) }
    guard unsafe PQresultStatus(result) == wanted else {
      throw unsafe ReadyConnection.refusal(result) ?? Refusal(text: "the server does not support COPY", state: "0A000")
    }
  }

  private func takeCopyResult() throws(Refusal) {
    var refusal: Refusal?
    while let result = unsafe PQgetResult(handle) {
      refusal = unsafe refusal ?? ReadyConnection.refusal(result)
      unsafe PQclear(result)
    }
    if let refusal { throw refusal }
  }
}
