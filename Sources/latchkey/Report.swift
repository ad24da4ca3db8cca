import Encodings
import Protobuf
import Reactor
import Tokens

/// The output of a command: lines for users and JSON members for programs.
struct Report {
  var lines: [String]
  var members: [JSONMember]

  init(_ lines: [String], _ members: [JSONMember]) {
    self.lines = lines
    self.members = members
  }

  func bytes(asJSON: Bool) -> [UInt8] {
    guard asJSON else {
      let shown = lines.flatMap { $0.split(separator: "\n", omittingEmptySubsequences: false) }
      return Array(shown.map { printable(String($0)) + "\n" }.joined().utf8)
    }
    var writer = JSONWriter()
    writer.value(.object(members))
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  func show(asJSON: Bool) throws(SystemError) { try tryWriteOutput(bytes(asJSON: asJSON)) }
}

/// Overwrites the progress line on a terminal. nil ends the line.
func showProgress(_ text: String?) {
  guard isTerminal(2) else { return }
  writeAll(Array((text.map { "\r" + $0 + "  " } ?? "\n").utf8), to: 2)
}

extension ProtobufEnum {
  /// The name, for users and programs; empty for the unspecified value.
  var word: String { rawValue == 0 ? "" : name }
}

extension JSONValue {
  /// A value that this version does not know is null.
  static func word(_ value: (some ProtobufEnum)?) -> JSONValue { value.map { .string($0.word) } ?? .null }
  static func lowercaseWord(_ value: (some ProtobufEnum)?) -> JSONValue {
    value.map { .string($0.word.lowercased()) } ?? .null
  }
  static func moment(_ millis: Int64?) -> JSONValue { millis.map { .string(rfc3339($0)) } ?? .null }
  static func strings(_ values: [String]) -> JSONValue { .array(values.map(JSONValue.string)) }
}

/// Replaces control characters in untrusted text, because a terminal would execute them.
func printable(_ text: String) -> String {
  String(String.UnicodeScalarView(text.unicodeScalars.map { ShownText.isControl($0) ? "\u{FFFD}" : $0 }))
}

/// Formats a command line, quoted for the shell.
func commandLine(_ words: [String]) -> String {
  words.map { word in
    let isPlain = !word.isEmpty && word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-_./:@+,=%".utf8.contains(byte)
      }
    }
    // By scalars: a combining mark hides a quote from a search for the character.
    let quoted = word.unicodeScalars.map { $0 == "'" ? "'\\''" : String($0) }.joined()
    return isPlain ? word : "'" + quoted + "'"
  }.joined(separator: " ")
}
