import Reactor

/// Where a password or a token comes from: a file, standard input, the environment, or the terminal.
struct SecretSource {
  private static let bytesMax = 65_536

  /// As it is called in messages.
  let option: String
  /// `-`: standard input.
  var file: String?
  var variable: String?
  /// What to ask for on the terminal; nil: it is not asked for.
  var prompt: String?
  /// Asked twice: nobody sees what he types.
  var isNew = false

  func read() throws -> String {
    if let file { return try text(file) }
    if let variable, let text = environmentVariable(variable) { return text }
    guard let prompt else { throw Ending.usage(option, "it is needed" + alternatives) }
    let first = try ask(prompt)
    if isNew, try ask("Once more: ") != first { throw Ending.usage(option, "the two are not the same") }
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
    // The line end that editors and echo leave behind the secret is no part of it.
    var content = bytes[...]
    if content.last == UInt8(ascii: "\n") { content.removeLast() }
    if content.last == UInt8(ascii: "\r") { content.removeLast() }
    guard let text = String(validating: content, as: UTF8.self), !text.isEmpty else {
      throw Ending.usage(option, "there is no text in \(file == "-" ? "standard input" : file)")
    }
    return text
  }

  private func ask(_ prompt: String) throws -> String {
    switch readSecret(prompt: prompt, bytesMax: 4_096) {
    case .line(let line): return line
    case .noTerminal: throw Ending.usage(option, "there is no terminal to ask on" + alternatives)
    case .givenUp: throw Ending.usage(option, "nothing was entered")
    }
  }

  private var alternatives: String {
    ": give \(option) FILE, or - for standard input" + (variable.map { ", or set $\($0)" } ?? "")
  }
}
