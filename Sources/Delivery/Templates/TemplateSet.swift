internal import FoundationEssentials
internal import Reactor
internal import Store

/// A kind of message, with its values for templates.
package struct TemplateKind: Hashable, Sendable {
  package var name: String
  /// The values that its messages can have.
  package var values: Set<String>
  /// The values that some messages lack. A template may use them only in a section of the same name.
  package var occasionalValues: Set<String>

  package init(_ name: String, values: Set<String>, occasionalValues: Set<String> = []) {
    self.name = name
    self.values = values
    self.occasionalValues = occasionalValues
  }

  /// Returns the names that a template in this language may use.
  func names(in language: String) -> Set<String> {
    let names = values.union(TemplateKind.common)
    return Lifetime.isWritten(in: language) ? names.union(["lifetime"]) : names
  }

  /// Every message has a recipient and a lifetime. `lifetime`, the lifetime in words, exists only for the languages of
  /// `Lifetime`.
  private static let common: Set<String> = ["to", "minutes", "hours"]
}

/// The templates of all kinds and languages. Templates in the operator's folder replace built-in ones.
///
/// The folder has one folder per language (`en`, `pt-BR`) with `KIND.txt` and, for HTML mails, `KIND.html`. The next
/// matching language provides a missing template.
package struct TemplateSet: Sendable {
  private static let fileBytesMax = 128 * 1024
  private let byLanguage: [String: [String: Template]]
  private let defaultLanguage: String

  /// - Parameters:
  ///   - folder: The operator's folder. nil: built-in templates only.
  ///   - defaultLanguage: The language for users without a locale, or with an unknown one. It must have all kinds.
  package init(
    _ kinds: [TemplateKind], folder: String? = nil, defaultLanguage: String = "en"
  ) throws(TemplateError) {
    var byLanguage: [String: [String: Template]] = [:]
    for (language, sources) in BuiltIn.languages {
      for kind in kinds {
        guard let source = sources[kind.name] else { continue }
        byLanguage[language, default: [:]][kind.name] = try Template(
          source, name: "\(language)/\(kind.name)", names: kind.names(in: language),
          occasional: kind.occasionalValues)
      }
    }
    if let folder { try TemplateSet.read(folder, kinds, into: &byLanguage) }
    self.byLanguage = byLanguage
    self.defaultLanguage = TemplateSet.tag(defaultLanguage)
    for kind in kinds where byLanguage[self.defaultLanguage]?[kind.name] == nil {
      throw TemplateError(
        template: "\(defaultLanguage)/\(kind.name)", why: "the default language must have every kind of message")
    }
  }

  /// Renders a message. Throws `TemplateError` if a required value is missing or does not fit its place.
  package func words(_ message: DeliveryMessage) throws(TemplateError) -> Words {
    guard let (language, template) = find(message.kind, message.locale) else {
      throw TemplateError(template: message.kind, why: "there is no such template")
    }
    var values = message.values
    let lifetime = Lifetime(millis: message.expiresAt.millis - message.createdAt.millis)
    values["to"] = message.recipient
    values["minutes"] = String(lifetime.minutes)
    values["hours"] = String(max(1, lifetime.minutes / 60))
    values["lifetime"] = lifetime.text(in: language)
    do throws(Template.MissingValue) {
      return try template.words(values)
    } catch {
      throw TemplateError(
        template: "\(language)/\(message.kind)", why: "the value \(error.name) is missing, or is not a line of text")
    }
  }

  /// Finds a template. Shortens the language tag from its end until a template exists (RFC 4647, 3.4). Falls back to
  /// the default language.
  private func find(_ kind: String, _ locale: String) -> (language: String, Template)? {
    var language = TemplateSet.tag(locale)
    while !language.isEmpty {
      if let template = byLanguage[language]?[kind] { return (language, template) }
      guard let cut = language.lastIndex(of: "-") else { break }
      language = String(language[..<cut])
      // A single letter begins an extension and has no meaning without the part that follows.
      if language.dropLast().hasSuffix("-") { language = String(language.dropLast(2)) }
    }
    return byLanguage[defaultLanguage]?[kind].map { (defaultLanguage, $0) }
  }

  private static func tag(_ text: String) -> String { text.lowercased().replacing("_", with: "-") }

  // MARK: The operator's folder

  private static func read(
    _ folder: String, _ kinds: [TemplateKind], into byLanguage: inout [String: [String: Template]]
  ) throws(TemplateError) {
    for language in try names(in: folder) {
      let path = folder + "/" + language
      let files = try names(in: path)
      for file in files {
        guard kinds.contains(where: { file == $0.name + ".txt" || file == $0.name + ".html" }) else {
          throw TemplateError(template: "\(path)/\(file)", why: "unknown kind of message; use KIND.txt or KIND.html")
        }
      }
      for kind in kinds where files.contains(kind.name + ".txt") || files.contains(kind.name + ".html") {
        let html = files.contains(kind.name + ".html") ? try text(of: "\(path)/\(kind.name).html") : nil
        byLanguage[tag(language), default: [:]][kind.name] = try Template(
          try text(of: "\(path)/\(kind.name).txt"), html: html, name: "\(path)/\(kind.name)",
          names: kind.names(in: tag(language)), occasional: kind.occasionalValues)
      }
    }
  }

  /// Returns the names and contents of all files in the operator's folder, to compare them; nil if it is unreadable.
  package static func files(in folder: String) -> [UInt8]? {
    guard let languages = try? names(in: folder) else { return nil }
    var bytes: [UInt8] = []
    for language in languages {
      guard let files = try? names(in: folder + "/" + language) else { continue }
      for path in files.map({ "\(folder)/\(language)/\($0)" }) {
        let content = readFile(path, bytesMax: fileBytesMax) ?? []
        bytes += Array("\(path) \(content.count)\n".utf8) + content
      }
    }
    return bytes
  }

  private static func names(in folder: String) throws(TemplateError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }.sorted()
    } catch {
      throw TemplateError(template: folder, why: "the folder cannot be listed")
    }
  }

  private static func text(of path: String) throws(TemplateError) -> String {
    guard let bytes = readFile(path, bytesMax: fileBytesMax), let text = String(validating: bytes, as: UTF8.self)
    else { throw TemplateError(template: path, why: "it is unreadable, not UTF-8, or over \(fileBytesMax) bytes") }
    return text
  }
}
