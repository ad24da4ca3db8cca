internal import GRPC

/// The stage of a server call. Each transition is pure.
///
/// A unary call: receiving, ready, running, answered. A streaming call receives until it requests work; while it is
/// starting, working or delivering, its further input waits.
enum CallStage {
  /// Messages that arrived with the message that started the work.
  struct Waiting {
    var messages: ArraySlice<Message>
    var last: Bool
  }

  /// It receives messages.
  case receiving
  /// Unary: its request is complete and waits for the decision phase of this turn.
  case ready
  /// Unary: its task runs.
  case running
  /// Streaming: its work is queued for the decision phase of this turn.
  case starting(Waiting?)
  /// Streaming: the task of its work runs.
  case working(Waiting?)
  /// Streaming: the result of its work is sent. The call continues when the client has read it.
  case delivering(Waiting?)
  /// Its client has gone while its task runs. The result of the task is counted and logged, but not sent.
  case unheard
  /// It is answered, rejected or abandoned. The result of a task is discarded.
  case answered

  var isReceiving: Bool { if case .receiving = self { true } else { false } }
  var isReady: Bool { if case .ready = self { true } else { false } }
  var isStarting: Bool { if case .starting = self { true } else { false } }
  var isWorking: Bool { if case .working = self { true } else { false } }
  var isDelivering: Bool { if case .delivering = self { true } else { false } }
  var isUnheard: Bool { if case .unheard = self { true } else { false } }
  var isAnswered: Bool { if case .answered = self { true } else { false } }

  /// The request, or the conversation, continues.
  var isOpen: Bool {
    switch self {
    case .receiving, .starting, .working, .delivering: true
    case .ready, .running, .unheard, .answered: false
    }
  }

  /// Its work is running, or the client has not read the result. Further input is not processed.
  var isPaused: Bool { isOpen && !isReceiving }

  /// A task runs whose result still counts.
  var hasTask: Bool {
    switch self {
    case .running, .working, .unheard: true
    case .receiving, .ready, .starting, .delivering, .answered: false
    }
  }

  mutating func completeRequest() {
    if isReceiving { self = .ready }
  }

  /// Work was requested. `waiting` is input from before an earlier pause.
  mutating func start(_ waiting: Waiting? = nil) {
    if isReceiving { self = .starting(waiting) }
  }

  /// The task starts.
  mutating func launch() {
    switch self {
    case .ready: self = .running
    case .starting(let waiting): self = .working(waiting)
    default: break
    }
  }

  mutating func deliver() {
    if case .working(let waiting) = self { self = .delivering(waiting) }
  }

  /// The client has read the result. Returns the input that waited.
  mutating func resume() -> Waiting? {
    guard case .delivering(let waiting) = self else { return nil }
    self = .receiving
    return waiting
  }

  /// Keeps input until the call resumes.
  mutating func keep(_ waiting: Waiting) {
    switch self {
    case .starting: self = .starting(waiting)
    case .working: self = .working(waiting)
    case .delivering: self = .delivering(waiting)
    default: break
    }
  }

  /// The client has gone. Returns whether a task continues, so that its result must be awaited.
  mutating func leave() -> Bool {
    guard hasTask else { return false }
    self = .unheard
    return true
  }

  mutating func settle() { self = .answered }
}
