/// The trace of a caller, from `traceparent` (W3C Trace Context, section 3.2).
package struct TraceParent: Hashable, Sendable {
  package var traceID: TraceID
  package var spanID: UInt64
  package var isSampled: Bool

  /// Parses the field. Returns nil if it is invalid: the call then begins a new trace.
  ///
  /// For a later version, reads the first four fields as in version 00 (section 3.2.4).
  package init?(_ value: Span<UInt8>) {
    let bytes = 55
    guard value.count >= bytes, let version = TraceDigits.number(value, 0, digits: 2), version != 0xff,
      value.count == bytes || (version > 0 && value[bytes] == UInt8(ascii: "-")),
      [2, 35, 52].allSatisfy({ value[$0] == UInt8(ascii: "-") }),
      let high = TraceDigits.number(value, 3, digits: 16), let low = TraceDigits.number(value, 19, digits: 16),
      let span = TraceDigits.number(value, 36, digits: 16), let flags = TraceDigits.number(value, 53, digits: 2),
      high | low != 0, span != 0
    else { return nil }
    traceID = TraceID(high: high, low: low)
    spanID = span
    isSampled = flags & 1 != 0
  }
}

/// The 128 bits of a trace ID. All zeros are invalid.
package struct TraceID: Hashable, Sendable {
  package var high: UInt64
  package var low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package var text: String {
    var digits = [UInt8](repeating: 0, count: TraceID.digits)
    var room = digits.mutableSpan
    write(to: &room)
    return String(decoding: digits, as: UTF8.self)
  }

  package static let digits = 32

  /// Writes the digits. Every response has them, so this takes few instructions.
  package func write(to room: inout MutableSpan<UInt8>) {
    TraceDigits.write(high, to: &room, at: 0)
    TraceDigits.write(low, to: &room, at: TraceID.digits / 2)
  }
}

/// The IDs of one call: those that the caller sent, and those that the server made.
package struct CallTrace: Hashable, Sendable {
  package var traceID: TraceID
  /// The span of this call, in the trace.
  package var spanID: UInt64
  /// The caller's span.
  package var parent: TraceParent?
  /// The value of `x-request-id`; empty: the ID is `madeRequestID`.
  private var givenRequestID: [UInt8]
  private var madeRequestID: TraceID
  /// Whether the spans of this call are exported.
  package var isSampled = false

  init(
    traceID: TraceID, spanID: UInt64, parent: TraceParent?, givenRequestID: [UInt8], madeRequestID: TraceID
  ) {
    self.traceID = traceID
    self.spanID = spanID
    self.parent = parent
    self.givenRequestID = givenRequestID
    self.madeRequestID = madeRequestID
  }

  /// The IDs of a call in tests, and of work without a call.
  package static let none = CallTrace(
    traceID: TraceID(high: 0, low: 0), spanID: 0, parent: nil, givenRequestID: [],
    madeRequestID: TraceID(high: 0, low: 0))

  /// Whether the trace ID differs from the request ID, as it does if the caller sent one of them.
  package var hasOwnTraceID: Bool { !givenRequestID.isEmpty || madeRequestID != traceID }

  package var requestID: String {
    givenRequestID.isEmpty ? madeRequestID.text : String(decoding: givenRequestID, as: UTF8.self)
  }

  /// Writes the request ID to room for `RequestID.bytesMax`, and returns its length in bytes.
  package func writeRequestID(to room: inout MutableSpan<UInt8>) -> Int {
    guard !givenRequestID.isEmpty else {
      madeRequestID.write(to: &room)
      return TraceID.digits
    }
    for index in givenRequestID.indices { room[index] = givenRequestID[index] }
    return givenRequestID.count
  }
}

/// The value of `x-request-id`.
package enum RequestID {
  package static let bytesMax = 128

  /// Whether a value is kept. Any other value is replaced, because it appears in the log and in audit rows.
  static func isValid(_ value: Span<UInt8>) -> Bool {
    guard (1...bytesMax).contains(value.count) else { return false }
    for index in value.indices {
      switch value[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
        UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "+"), UInt8(ascii: "="), UInt8(ascii: "@"):
        continue
      default: return false
      }
    }
    return true
  }
}

/// Maker of the IDs of one thread's calls. The IDs are random, but not secret: an attacker may
/// predict them. A generator for each thread costs a few instructions for each ID (SplitMix64).
package struct CallTraceMaker: ~Copyable {
  private var state: UInt64

  package init() { state = UInt64.random(in: .min ... .max) }

  init(seed: UInt64) { state = seed }

  package mutating func make(_ head: borrowing RequestHead) -> CallTrace {
    let made = TraceID(high: next(), low: next())
    let traceID = head.traceParent?.traceID ?? made
    return CallTrace(
      traceID: traceID, spanID: next(), parent: head.traceParent, givenRequestID: head.requestID, madeRequestID: made)
  }

  /// Returns a number that is not 0, since an ID of zeros is invalid.
  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    mixed ^= mixed >> 31
    return mixed == 0 ? 1 : mixed
  }
}

/// Lower-case hexadecimal digits.
enum TraceDigits {
  /// Parses digits; nil if another character is among them.
  static func number(_ text: Span<UInt8>, _ start: Int, digits: Int) -> UInt64? {
    var number: UInt64 = 0
    for index in start..<start + digits {
      let value: UInt8
      switch text[index] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = text[index] - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = text[index] - UInt8(ascii: "a") + 10
      default: return nil
      }
      number = number << 4 | UInt64(value)
    }
    return number
  }

  /// Writes 16 digits.
  static func write(_ number: UInt64, to room: inout MutableSpan<UInt8>, at start: Int) {
    var (rest, at) = (number, start + 16)
    while at > start {
      at -= 1
      let nibble = UInt8(truncatingIfNeeded: rest & 15)
      room[at] = nibble &+ (nibble < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
      rest >>= 4
    }
  }
}
