/// An error in a template.
package struct TemplateError: Error, Hashable, CustomStringConvertible {
  /// The file, or the language and kind of a built-in template.
  package var template: String
  package var why: String

  package var description: String { "\(template): \(why)" }
}

/// The text of one kind of message in one language: plain text, and optionally HTML for mails.
///
/// `{{name}}` inserts a required value. `{{#name}}…{{/name}}` is a section that appears only if the value exists. There
/// is no other syntax, so that a template contains no logic.
struct Template: Hashable, Sendable {
  indirect enum Part: Hashable, Sendable {
    case literal(String)
    case value(String)
    case section(String, [Part])
  }

  var subject: [Part]
  var text: [Part]
  var html: [Part]?

  /// - Parameters:
  ///   - source: `Subject: …`, an empty line, and the text.
  ///   - names: The values that messages of this kind may have.
  ///   - occasional: Values that some messages lack. Outside a section, such a value would make those messages fail.
  init(
    _ source: String, html: String? = nil, name: String, names: Set<String>, occasional: Set<String> = []
  ) throws(TemplateError) {
    let lines = source.replacing("\r\n", with: "\n")
      .split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count == 3, lines[0].hasPrefix("Subject: "), lines[1].isEmpty else {
      throw TemplateError(template: name, why: "the template must begin with `Subject: …` and an empty line")
    }
    let subject = String(lines[0].dropFirst("Subject: ".count))
    guard !subject.isEmpty, subject.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
      throw TemplateError(template: name, why: "the subject must be one line of text")
    }
    func parts(_ text: String) throws(TemplateError) -> [Part] {
      var parser = TemplateParser(text, template: name, names: names, occasional: occasional)
      return try parser.parts(until: nil)
    }
    self.subject = try parts(subject)
    text = try parts(String(lines[2]))
    self.html = if let html { try parts(html) } else { nil }
  }

  /// Renders the message. Throws the name of a value that is missing, or that contains a line break in the subject.
  func words(_ values: [String: String]) throws(MissingValue) -> Words {
    Words(
      subject: try Template.render(subject, values, as: .line), text: try Template.render(text, values, as: .text),
      html: try html.map { html throws(MissingValue) in try Template.render(html, values, as: .html) })
  }

  struct MissingValue: Error, Hashable { var name: String }

  private enum Form { case line, text, html }

  private static func render(
    _ parts: [Part], _ values: [String: String], as form: Form
  ) throws(MissingValue) -> String {
    var text = ""
    for part in parts {
      switch part {
      case .literal(let literal): text += literal
      case .section(let name, let inner):
        if values[name].map({ !$0.isEmpty }) ?? false { text += try render(inner, values, as: form) }
      case .value(let name):
        guard let value = values[name], !value.isEmpty else { throw MissingValue(name: name) }
        switch form {
        case .line:
          guard value.unicodeScalars.allSatisfy(isOfALine) else { throw MissingValue(name: name) }
          text += value
        case .text: text += value
        case .html: text += escaped(value)
        }
      }
    }
    return text
  }

  /// Returns whether a character is neither a control character nor a Unicode line break.
  private static func isOfALine(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029: false
    default: true
    }
  }

  private static func escaped(_ value: String) -> String {
    var text = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }
}

struct TemplateParser {
  private var rest: Substring
  private let template: String
  private let names: Set<String>
  private let occasional: Set<String>
  private static let depthMax = 3
  /// The open sections, outermost first.
  private var sections: [String] = []

  init(_ text: String, template: String, names: Set<String>, occasional: Set<String>) {
    rest = text[...]
    self.template = template
    self.names = names
    self.occasional = occasional
  }

  /// Parses up to the end of a section.
  /// - Parameter section: The section to parse. nil: the whole text.
  mutating func parts(until section: String?) throws(TemplateError) -> [Template.Part] {
    guard sections.count < TemplateParser.depthMax else { throw wrong("sections are nested too deeply") }
    if let section { sections.append(section) }
    defer { if section != nil { sections.removeLast() } }
    var parts: [Template.Part] = []
    while let tag = try nextTag(&parts) {
      if tag.hasPrefix("#") {
        let name = try known(tag.dropFirst())
        parts.append(.section(name, try self.parts(until: name)))
      } else if tag.hasPrefix("/") {
        guard let section, tag.dropFirst() == section else { throw wrong("{{\(tag)}} closes no open section") }
        return parts
      } else {
        let name = try known(tag)
        guard !occasional.contains(name) || sections.contains(name) else {
          throw wrong("some messages have no {{\(name)}}: put it between {{#\(name)}} and {{/\(name)}}")
        }
        parts.append(.value(name))
      }
    }
    if let section { throw wrong("{{#\(section)}} has no closing tag") }
    return parts
  }

  /// Takes the text before the next tag, and returns the tag, or nil at the end.
  private mutating func nextTag(_ parts: inout [Template.Part]) throws(TemplateError) -> Substring? {
    var literal = ""
    while let first = rest.first {
      if rest.hasPrefix("{{") {
        rest = rest.dropFirst(2)
        guard let end = rest.firstIndex(of: "}"), rest[end...].hasPrefix("}}") else { throw wrong("{{ is not closed") }
        let tag = rest[..<end]
        rest = rest[end...].dropFirst(2)
        if !literal.isEmpty { parts.append(.literal(literal)) }
        return tag
      }
      literal.append(first)
      rest = rest.dropFirst()
    }
    if !literal.isEmpty { parts.append(.literal(literal)) }
    return nil
  }

  private func known(_ name: Substring) throws(TemplateError) -> String {
    guard names.contains(String(name)) else {
      throw wrong("{{\(name)}} is not one of \(names.sorted().joined(separator: ", "))")
    }
    return String(name)
  }

  private func wrong(_ why: String) -> TemplateError { TemplateError(template: template, why: why) }
}
