import FoundationEssentials
import Glibc
import Logging
import Reactor
import TestSupport
import Testing

@testable import Server

/// The settings of a file with all required settings, and `text`.
func settings(_ text: String = "", environment: [String: String] = [:]) throws(ConfigurationError) -> Settings {
  let files = "tls: { certificate_file: \"server.pem\", key_file: \"server.key\""
  // A name can appear in an object only once.
  let rest = text.hasPrefix("tls: {") ? ", " + text.dropFirst("tls: {".count) : " }, " + text
  return try parsed(files + rest, environment)
}

func parsed(_ text: String, _ environment: [String: String] = [:]) throws(ConfigurationError) -> Settings {
  try Settings.parse(Array("{ \(text) }".utf8), folder: "/etc/latchkey", environment: environment)
}

/// The error of a call that must fail.
func refusal<R>(
  sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> R
) -> ConfigurationError? {
  do {
    let answer = try body()
    Issue.record("taken: \(answer)", sourceLocation: sourceLocation)
  } catch let error as ConfigurationError {
    #expect(!error.why.isEmpty && !error.description.contains("\n"), sourceLocation: sourceLocation)
    return error
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
  }
  return nil
}

/// A dotted path and a value, such as `limits.drain_seconds` and `5`, in the format of a file.
func nested(_ path: String, _ value: String) -> String {
  let steps = path.split(separator: ".")
  return steps.dropLast().map { "\($0): { " }.joined() + "\(steps.last ?? ""): \(value)"
    + String(repeating: " }", count: steps.count - 1)
}

/// The environment variable that overrides a setting.
func variable(_ path: String) -> String { "LATCHKEY_" + path.uppercased().replacing(".", with: "_") }

func write(_ text: String, to path: String) throws {
  try Data(text.utf8).write(to: URL(filePath: path))
}

/// The lines of a log.
func lines(
  level: Logger.Level = .info, waitingBytesMax: Int = 4 << 20, _ write: (Log) async throws -> Void
) async throws -> [[String: String]] {
  try await withFolder { folder in
    let path = folder + "/log"
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    try #require(descriptor >= 0)
    let handler = JSONLines(level: level, descriptor: descriptor, waitingBytesMax: waitingBytesMax)
    try await write(Log(handler))
    handler.flush()
    let bytes = try #require(readFile(path, bytesMax: 8 << 20))
    return try bytes.split(separator: UInt8(ascii: "\n")).map { line in
      try JSONDecoder().decode([String: String].self, from: Data(line))
    }
  }
}
