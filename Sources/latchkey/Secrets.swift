import Reactor

/// The source of a password or token: a file, standard input, the environment, or the terminal.
struct SecretSource {
  private static let bytesMax = 65_536

  /// The option's name in messages.
  let option: String
  /// The path of the file; `-` means standard input.
  var file: String?
  var variable: String?
  /// The prompt on the terminal; nil: never ask.
  var prompt: String?
  /// Whether to ask twice, because the terminal does not show the input.
  var isNew = false

  func read() throws -> String {
    if let file { return try text(file) }
    if let variable, let text = environmentVariable(variable) { return text }
    guard let prompt else { throw Ending.usage(option, "the value is missing" + alternatives) }
    let first = try ask(prompt)
    if isNew, try ask("Repeat the password: ") != first {
      throw Ending.usage(option, "the two passwords are not the same")
    }
    return first
  }

  private func text(_ file: String) throws -> String {
    let bytes: [UInt8]
    do throws(SystemError) {
      let bytesMax = SecretSource.bytesMax
      bytes = file == "-" ? try wholeStandardInput(bytesMax: bytesMax) : try wholeFile(file, bytesMax: bytesMax)
    } catch {
      throw Ending.usage(option, "\(file) cannot be read: \(error.reason)")
    }
    // Remove the final line end, which editors and echo append.
    var content = bytes[...]
    if content.last == UInt8(ascii: "\n") { content.removeLast() }
    if content.last == UInt8(ascii: "\r") { content.removeLast() }
    guard let text = String(validating: content, as: UTF8.self), !text.isEmpty else {
      throw Ending.usage(option, "\(file == "-" ? "standard input" : file) contains no text")
    }
    return text
  }

  private func ask(_ prompt: String) throws -> String {
    switch readSecret(prompt: prompt, bytesMax: 4_096) {
    case .line(let line): return line
    case .noTerminal: throw Ending.usage(option, "there is no terminal for a prompt" + alternatives)
    case .givenUp: throw Ending.usage(option, "nothing was entered")
    }
  }

  private var alternatives: String {
    ": give \(option) FILE, or - for standard input" + (variable.map { ", or set $\($0)" } ?? "")
  }
}
