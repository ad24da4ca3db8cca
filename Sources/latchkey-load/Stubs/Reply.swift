internal import Client
internal import Messages

/// Who hears what a call came to: one call at a time, any number one after the other.
@safe
final class Reply {
  /// Set once, before the first call.
  var receive: (Result<Answer, CallStatus>) -> Void = { _ in }
  /// That of the call under way.
  private var stub: Stub?
  /// The call under way; nil: its connection took no more.
  private var call: CallID?
  /// What an answer that is a stream has come to so far.
  private var gathering = Gathering(.first)

  func begin(_ stub: Stub, _ gathering: Gathering) {
    self.stub = stub
    self.gathering = gathering
  }

  /// The stub was given the call.
  func hasBegun() { call = stub?.lastCall }

  /// An answer of one message; nil: there is none.
  static func hear(_ context: UnsafeMutableRawPointer?, _ answer: Answer?) {
    let reply = unsafe of(context)
    reply.receive(answer.map(Result.success) ?? .failure(reply.status))
  }

  /// A message of an answer that is a stream; nil: its end, however it came. Who has heard enough ends it, and still
  /// waits for the end: only then this can hear of another call.
  static func gather(_ context: UnsafeMutableRawPointer?, _ message: Answer?) {
    let reply = unsafe of(context)
    guard let message else {
      let isWell = reply.gathering.isEnough || reply.status.isOK
      return reply.receive(isWell ? .success(reply.gathering.whole) : .failure(reply.status))
    }
    guard !reply.gathering.isEnough else { return }
    reply.gathering.take(message)
    if reply.gathering.isEnough, let call = reply.call { reply.stub?.connection.cancel(call) }
  }

  private var status: CallStatus { stub?.status ?? CallStatus(.unknown) }

  private static func of(_ context: UnsafeMutableRawPointer?) -> Reply {
    guard let context = unsafe context else { preconditionFailure("every call has its reply") }
    return unsafe Unmanaged<Reply>.fromOpaque(context).takeUnretainedValue()
  }
}

// Parts of answers. A message is gone when the closure of its stub returns, so what is wanted is copied here.

func session(_ form: UnsafePointer<Latchkey__V1__Session>?) -> Answer {
  unsafe facts(ofSession: form).map(Answer.session) ?? .other("none")
}

func facts(ofSession form: UnsafePointer<Latchkey__V1__Session>?) -> SessionFacts? {
  guard let form = unsafe form else { return nil }
  return unsafe SessionFacts(
    id: text(form.pointee.session_id), idToken: text(form.pointee.id_token),
    refreshToken: text(form.pointee.refresh_token), account: account(form.pointee.account),
    isNew: form.pointee.is_new_account != 0)
}

func account(_ form: UnsafePointer<Latchkey__V1__Account>?) -> AccountFacts {
  guard let form = unsafe form else { return AccountFacts(id: "", email: "", isAnonymous: false, providerIDs: []) }
  return unsafe AccountFacts(
    id: text(form.pointee.account_id), email: text(form.pointee.email), isAnonymous: form.pointee.anonymous != 0,
    providerIDs: forms(form.pointee.n_providers, form.pointee.providers) { unsafe text($0.pointee.provider_id) },
    displayName: text(form.pointee.display_name), isDisabled: form.pointee.disabled != 0,
    claimsJSON: text(form.pointee.custom_claims_json),
    factors: factors(form.pointee.n_second_factors, form.pointee.second_factors))
}

func factors(
  _ count: Int, _ hints: UnsafeMutablePointer<UnsafeMutablePointer<Latchkey__V1__SecondFactorHint>?>?
) -> [FactorFacts] {
  unsafe forms(count, hints) { unsafe FactorFacts(id: text($0.pointee.factor_id), kind: text($0.pointee.kind)) }
}

func begun(
  _ verificationID: UnsafePointer<CChar>?, _ expiresAt: UnsafePointer<Google__Protobuf__Timestamp>?
) -> Answer {
  let seconds = unsafe expiresAt?.pointee.seconds ?? 0
  return unsafe .begun(verificationID: text(verificationID), expiresAtMillis: seconds * 1_000)
}

/// What is wanted of each message of a repeated field.
func forms<Form, Value>(
  _ count: Int, _ forms: UnsafeMutablePointer<UnsafeMutablePointer<Form>?>?,
  _ read: (UnsafeMutablePointer<Form>) -> Value
) -> [Value] {
  guard let forms = unsafe forms else { return [] }
  return (0..<count).compactMap { unsafe forms[$0].map(read) }
}

func texts(_ count: Int, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> [String] {
  unsafe forms(count, values) { unsafe text($0) }
}

/// The server sends UTF-8 (proto3); anything else would be repaired, and then not be what is expected.
func text(_ value: UnsafePointer<CChar>?) -> String {
  guard let value = unsafe value else { return "" }
  return unsafe String(cString: value)
}
