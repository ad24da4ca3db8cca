import Store

/// A kind of write. A write with an option that a backend implements separately has a case for each value.
enum WriteVariant: CaseIterable {
  case insertAccount, updateAccount, raiseAccount, touchAccount, confirmAccount, cutOff, cutOffDisabling
  case requireFreeEmail, closeAccount, closeAnyVersion, forgetAccount, requireIdle, noteIdle
  case insertIdentity, updateIdentity, deleteIdentity, rememberUnlink, forgetUnlink
  case insertFactor, updateFactor, deleteFactor, requireNoFactor
  case insertSession, rotate, rename, closeSession, closeAll, closeAllExceptOne, closeBegun, closeBegunExceptOne
  case requireOpen, requireOpenWithDigest
  case insertPending, complete, countAttempt, spendAttempt, reseal
  case deleteAllPendings, deleteAllExceptOne, deleteAllSparing, deleteAllExceptOneSparing, endPendings, endLaterPendings
  case enqueue, enqueueNotice, claim, remove, removeSent, noteError, bury, requeue
  case count, countUnblocked, reset, resetLiftingBlock
  case insertSigningKey, requireNoSigningKey, retireSigningKey, deleteSigningKeys
  case confirmSigningKey, rescheduleSigningKey, revokeSigningKey
  case insertIdempotency, spendToken, appendAudit, keepImportKey, noteMasterKey, noteSealingMasterKey
  case sealSigningKey, sealImportKey, sealFactor, sealPending, sealDelivery
  case addFailure

  /// Without a default, so that a new write does not compile until it has a case, and so a check of its effects.
  init(_ write: Write) {
    self =
      switch write {
      case .account(let write): WriteVariant(write)
      case .identity(.insert): .insertIdentity
      case .identity(.update): .updateIdentity
      case .identity(.delete): .deleteIdentity
      case .unlink(.remember): .rememberUnlink
      case .unlink(.forget): .forgetUnlink
      case .factor(.insert): .insertFactor
      case .factor(.update): .updateFactor
      case .factor(.delete): .deleteFactor
      case .factor(.requireNone): .requireNoFactor
      case .session(let write): WriteVariant(write)
      case .pending(let write): WriteVariant(write)
      case .delivery(.enqueue): .enqueue
      case .delivery(.enqueueNotice): .enqueueNotice
      case .delivery(.claim): .claim
      case .delivery(.remove): .remove
      case .delivery(.removeSent): .removeSent
      case .delivery(.noteError): .noteError
      case .delivery(.bury): .bury
      case .delivery(.requeue): .requeue
      case .failure(.add): .addFailure
      case .throttle(.count(let count)): count.refusesBlocked ? .countUnblocked : .count
      case .throttle(.reset(_, _, _, let liftsBlock)): liftsBlock ? .resetLiftingBlock : .reset
      case .signingKey(.insert): .insertSigningKey
      case .signingKey(.requireNone): .requireNoSigningKey
      case .signingKey(.retire): .retireSigningKey
      case .signingKey(.delete): .deleteSigningKeys
      case .signingKey(.confirm): .confirmSigningKey
      case .signingKey(.reschedule): .rescheduleSigningKey
      case .signingKey(.revoke): .revokeSigningKey
      case .record(let write): WriteVariant(write)
      }
  }

  private init(_ write: RecordWrite) {
    self =
      switch write {
      case .insertIdempotency: .insertIdempotency
      case .spendToken: .spendToken
      case .appendAudit: .appendAudit
      case .keepImportKey: .keepImportKey
      case .noteMasterKey(_, let seals, _): seals ? .noteSealingMasterKey : .noteMasterKey
      case .seal(.signingKey, _, _): .sealSigningKey
      case .seal(.importKey, _, _): .sealImportKey
      case .seal(.factor, _, _): .sealFactor
      case .seal(.pending, _, _): .sealPending
      case .seal(.delivery, _, _): .sealDelivery
      }
  }

  private init(_ write: AccountWrite) {
    self =
      switch write {
      case .insert: .insertAccount
      case .update: .updateAccount
      case .raise: .raiseAccount
      case .touch: .touchAccount
      case .confirm: .confirmAccount
      case .cutOff(_, _, let disabling): disabling ? .cutOffDisabling : .cutOff
      case .requireFreeEmail: .requireFreeEmail
      case .close(_, let version): version == nil ? .closeAnyVersion : .closeAccount
      case .requireIdle: .requireIdle
      case .noteIdle: .noteIdle
      case .forget: .forgetAccount
      }
  }

  private init(_ write: SessionWrite) {
    self =
      switch write {
      case .insert: .insertSession
      case .rotate: .rotate
      case .rename: .rename
      case .close: .closeSession
      case .closeAll(_, let except, _, _): except == nil ? .closeAll : .closeAllExceptOne
      case .closeBegun(_, _, let except, _, _): except == nil ? .closeBegun : .closeBegunExceptOne
      case .requireOpen(_, let digest, _): digest == nil ? .requireOpen : .requireOpenWithDigest
      }
  }

  private init(_ write: PendingWrite) {
    self =
      switch write {
      case .insert: .insertPending
      case .complete: .complete
      case .countAttempt: .countAttempt
      case .spendAttempt: .spendAttempt
      case .reseal: .reseal
      case .deleteAll(_, nil, let spared): spared.isEmpty ? .deleteAllPendings : .deleteAllSparing
      case .deleteAll(_, _, let spared): spared.isEmpty ? .deleteAllExceptOne : .deleteAllExceptOneSparing
      case .end(_, _, let createdAfter): createdAfter == nil ? .endPendings : .endLaterPendings
      }
  }
}
