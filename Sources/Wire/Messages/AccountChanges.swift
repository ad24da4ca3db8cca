// Update and Merge. The meaning of each field stands in proto/latchkey/v1/account_service.proto.

internal import Messages

package struct FieldMask: Sendable, Equatable {
  package var paths: [String]

  package init(paths: [String] = []) {
    self.paths = paths
  }
}

extension FieldMask: WireMessage, @unsafe Mapped {
  static var blank: Blank<Google__Protobuf__FieldMask> { unsafe google__protobuf__field_mask__init }

  init(_ form: UnsafePointer<Google__Protobuf__FieldMask>) {
    unsafe self.init(paths: texts(form.pointee.n_paths, form.pointee.paths))
  }

  func fill(_ form: UnsafeMutablePointer<Google__Protobuf__FieldMask>, _ arena: Arena) {
    unsafe (form.pointee.n_paths, form.pointee.paths) = arena.texts(paths)
  }
}

package struct UpdateRequest: Sendable, Equatable {
  package var idToken: String
  package var account: Account?
  package var updateMask: FieldMask?
  package var newPassword: String
  package var idempotencyKey: String
  package var client: ClientContext?
  package var continueURI: String
  package var locale: String

  package init(
    idToken: String = "", account: Account? = nil, updateMask: FieldMask? = nil, newPassword: String = "",
    idempotencyKey: String = "", client: ClientContext? = nil, continueURI: String = "", locale: String = ""
  ) {
    self.idToken = idToken
    self.account = account
    self.updateMask = updateMask
    self.newPassword = newPassword
    self.idempotencyKey = idempotencyKey
    self.client = client
    self.continueURI = continueURI
    self.locale = locale
  }
}

extension UpdateRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__UpdateRequest> { unsafe latchkey__v1__update_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__UpdateRequest>) {
    unsafe self.init(
      idToken: text(form.pointee.id_token), account: one(form.pointee.account),
      updateMask: one(form.pointee.update_mask), newPassword: text(form.pointee.new_password),
      idempotencyKey: text(form.pointee.idempotency_key), client: one(form.pointee.client),
      continueURI: text(form.pointee.continue_uri), locale: text(form.pointee.locale))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__UpdateRequest>, _ arena: Arena) {
    unsafe form.pointee.id_token = arena.text(idToken)
    unsafe form.pointee.account = arena.one(account)
    unsafe form.pointee.update_mask = arena.one(updateMask)
    unsafe form.pointee.new_password = arena.text(newPassword)
    unsafe form.pointee.idempotency_key = arena.text(idempotencyKey)
    unsafe form.pointee.client = arena.one(client)
    unsafe form.pointee.continue_uri = arena.text(continueURI)
    unsafe form.pointee.locale = arena.text(locale)
  }
}

package struct UpdateResponse: Sendable, Equatable {
  package var session: Session?

  package init(session: Session? = nil) {
    self.session = session
  }
}

extension UpdateResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__UpdateResponse> { unsafe latchkey__v1__update_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__UpdateResponse>) {
    unsafe self.init(session: one(form.pointee.session))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__UpdateResponse>, _ arena: Arena) {
    unsafe form.pointee.session = arena.one(session)
  }
}

package struct MergeRequest: Sendable, Equatable {
  package var survivorIDToken: String
  package var otherIDToken: String
  package var dryRun: Bool
  package var keep: [MergeKeep]
  package var idempotencyKey: String
  package var client: ClientContext?

  package init(
    survivorIDToken: String = "", otherIDToken: String = "", dryRun: Bool = false, keep: [MergeKeep] = [],
    idempotencyKey: String = "", client: ClientContext? = nil
  ) {
    self.survivorIDToken = survivorIDToken
    self.otherIDToken = otherIDToken
    self.dryRun = dryRun
    self.keep = keep
    self.idempotencyKey = idempotencyKey
    self.client = client
  }
}

extension MergeRequest: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__MergeRequest> { unsafe latchkey__v1__merge_request__init }

  init(_ form: UnsafePointer<Latchkey__V1__MergeRequest>) {
    unsafe self.init(
      survivorIDToken: text(form.pointee.survivor_id_token), otherIDToken: text(form.pointee.other_id_token),
      dryRun: form.pointee.dry_run != 0, keep: list(form.pointee.n_keep, form.pointee.keep),
      idempotencyKey: text(form.pointee.idempotency_key), client: one(form.pointee.client))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__MergeRequest>, _ arena: Arena) {
    unsafe form.pointee.survivor_id_token = arena.text(survivorIDToken)
    unsafe form.pointee.other_id_token = arena.text(otherIDToken)
    unsafe form.pointee.dry_run = dryRun ? 1 : 0
    unsafe (form.pointee.n_keep, form.pointee.keep) = arena.list(keep)
    unsafe form.pointee.idempotency_key = arena.text(idempotencyKey)
    unsafe form.pointee.client = arena.one(client)
  }
}

package struct MergeKeep: Sendable, Equatable {
  package var field: String
  package var fromAccountID: String

  package init(field: String = "", fromAccountID: String = "") {
    self.field = field
    self.fromAccountID = fromAccountID
  }
}

extension MergeKeep: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__MergeKeep> { unsafe latchkey__v1__merge_keep__init }

  init(_ form: UnsafePointer<Latchkey__V1__MergeKeep>) {
    unsafe self.init(field: text(form.pointee.field), fromAccountID: text(form.pointee.from_account_id))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__MergeKeep>, _ arena: Arena) {
    unsafe form.pointee.field = arena.text(field)
    unsafe form.pointee.from_account_id = arena.text(fromAccountID)
  }
}

package struct MergeResponse: Sendable, Equatable {
  package var session: Session?
  package var conflicts: [MergeConflict]
  package var movedProviderIDs: [String]
  package var closedAccountID: String

  package init(
    session: Session? = nil, conflicts: [MergeConflict] = [], movedProviderIDs: [String] = [],
    closedAccountID: String = ""
  ) {
    self.session = session
    self.conflicts = conflicts
    self.movedProviderIDs = movedProviderIDs
    self.closedAccountID = closedAccountID
  }
}

extension MergeResponse: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__MergeResponse> { unsafe latchkey__v1__merge_response__init }

  init(_ form: UnsafePointer<Latchkey__V1__MergeResponse>) {
    unsafe self.init(
      session: one(form.pointee.session), conflicts: list(form.pointee.n_conflicts, form.pointee.conflicts),
      movedProviderIDs: texts(form.pointee.n_moved_provider_ids, form.pointee.moved_provider_ids),
      closedAccountID: text(form.pointee.closed_account_id))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__MergeResponse>, _ arena: Arena) {
    unsafe form.pointee.session = arena.one(session)
    unsafe (form.pointee.n_conflicts, form.pointee.conflicts) = arena.list(conflicts)
    unsafe (form.pointee.n_moved_provider_ids, form.pointee.moved_provider_ids) = arena.texts(movedProviderIDs)
    unsafe form.pointee.closed_account_id = arena.text(closedAccountID)
  }
}

package struct MergeConflict: Sendable, Equatable {
  package var field: String
  package var survivorValue: String
  package var otherValue: String

  package init(field: String = "", survivorValue: String = "", otherValue: String = "") {
    self.field = field
    self.survivorValue = survivorValue
    self.otherValue = otherValue
  }
}

extension MergeConflict: WireMessage, @unsafe Mapped {
  static var blank: Blank<Latchkey__V1__MergeConflict> { unsafe latchkey__v1__merge_conflict__init }

  init(_ form: UnsafePointer<Latchkey__V1__MergeConflict>) {
    unsafe self.init(
      field: text(form.pointee.field), survivorValue: text(form.pointee.survivor_value),
      otherValue: text(form.pointee.other_value))
  }

  func fill(_ form: UnsafeMutablePointer<Latchkey__V1__MergeConflict>, _ arena: Arena) {
    unsafe form.pointee.field = arena.text(field)
    unsafe form.pointee.survivor_value = arena.text(survivorValue)
    unsafe form.pointee.other_value = arena.text(otherValue)
  }
}
