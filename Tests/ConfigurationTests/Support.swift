import Testing

@testable import Configuration
@testable import Observability
@testable import Transport

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
