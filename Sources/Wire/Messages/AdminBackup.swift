// The meaning of each field stands in proto/latchkey/v1/admin_service.proto.

internal import Messages

package struct BackupRequest: Sendable, Equatable {
  package init() {}
}

extension BackupRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__BackupRequest> { unsafe latchkey__v1__backup_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__BackupRequest>) {}

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__BackupRequest>, _ arena: Arena) {}
}

package struct BackupResponse: Sendable, Equatable {
  package var fileName: String
  package var sizeBytes: Int64
  package var sha256: [UInt8]
  package var accounts: Int64
  package var eventCursor: String
  package var createdAtMillis: Int64?

  package init(
    fileName: String = "", sizeBytes: Int64 = 0, sha256: [UInt8] = [], accounts: Int64 = 0, eventCursor: String = "",
    createdAtMillis: Int64? = nil
  ) {
    self.fileName = fileName
    self.sizeBytes = sizeBytes
    self.sha256 = sha256
    self.accounts = accounts
    self.eventCursor = eventCursor
    self.createdAtMillis = createdAtMillis
  }
}

extension BackupResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__BackupResponse> { unsafe latchkey__v1__backup_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__BackupResponse>) {
    unsafe self.init(
      fileName: text(form.pointee.file_name), sizeBytes: form.pointee.size_bytes, sha256: bytes(form.pointee.sha256),
      accounts: form.pointee.accounts, eventCursor: text(form.pointee.event_cursor),
      createdAtMillis: millis(form.pointee.created_at))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__BackupResponse>, _ arena: Arena) {
    unsafe form.pointee.file_name = arena.text(fileName)
    unsafe form.pointee.size_bytes = sizeBytes
    unsafe form.pointee.sha256 = arena.bytes(sha256)
    unsafe form.pointee.accounts = accounts
    unsafe form.pointee.event_cursor = arena.text(eventCursor)
    unsafe form.pointee.created_at = arena.timestamp(createdAtMillis)
  }
}
