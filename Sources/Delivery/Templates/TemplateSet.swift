internal import FoundationEssentials
internal import Reactor
internal import Store

/// A kind of message as templates know it.
package struct TemplateKind: Hashable, Sendable {
  package var name: String
  /// The values that its messages may have.
  package var values: Set<String>
  /// Those of them that some messages lack, so that a template may use them in a section of their name alone.
  package var occasionalValues: Set<String>

  package init(_ name: String, values: Set<String>, occasionalValues: Set<String> = []) {
    self.name = name
    self.values = values
    self.occasionalValues = occasionalValues
  }

  /// The names that a template in this language may use.
  func names(in language: String) -> Set<String> {
    let names = values.union(TemplateKind.common)
    return Lifetime.isWritten(in: language) ? names.union(["lifetime"]) : names
  }

  /// Every message has its recipient and its lifetime. The lifetime in words, `lifetime`, exists in the languages that
  /// `Lifetime` knows.
  private static let common: Set<String> = ["to", "minutes", "hours"]
}

/// The templates of all kinds and languages: the built-in ones, and those of the operator's folder in their places.
///
/// The folder has a folder for each language (`en`, `pt-BR`), and in it `KIND.txt` and, where a mail is to have HTML as
/// well, `KIND.html`. What is missing there is taken from the next language that has it.
package struct TemplateSet: Sendable {
  private static let fileBytesMax = 128 * 1024
  private let byLanguage: [String: [String: Template]]
  private let defaultLanguage: String

  /// - Parameters:
  ///   - folder: nil: the built-in ones alone.
  ///   - defaultLanguage: of who has none or one that is not there; it must have all kinds.
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

  /// Throws `TemplateError` where a value that the template needs is missing, or not fit for its place.
  package func words(_ letter: Letter) throws(TemplateError) -> Words {
    guard let (language, template) = find(letter.kind, letter.locale) else {
      throw TemplateError(template: letter.kind, why: "there is none")
    }
    var values = letter.values
    let lifetime = Lifetime(millis: letter.expiresAt.millis - letter.createdAt.millis)
    values["to"] = letter.recipient
    values["minutes"] = String(lifetime.minutes)
    values["hours"] = String(max(1, lifetime.minutes / 60))
    values["lifetime"] = lifetime.text(in: language)
    do throws(Template.MissingValue) {
      return try template.words(values)
    } catch {
      throw TemplateError(
        template: "\(language)/\(letter.kind)", why: "the value \(error.name) is missing, or no line of text")
    }
  }

  /// RFC 4647, 3.4: the tag is shortened from its end until there is one; then the default.
  private func find(_ kind: String, _ locale: String) -> (language: String, Template)? {
    var language = TemplateSet.tag(locale)
    while !language.isEmpty {
      if let template = byLanguage[language]?[kind] { return (language, template) }
      guard let cut = language.lastIndex(of: "-") else { break }
      language = String(language[..<cut])
      // A single letter begins an extension, and is nothing without what follows it.
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
          throw TemplateError(template: "\(path)/\(file)", why: "no message is called so; it must be KIND.txt or .html")
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

  private static func names(in folder: String) throws(TemplateError) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }.sorted()
    } catch {
      throw TemplateError(template: folder, why: "it cannot be listed")
    }
  }

  private static func text(of path: String) throws(TemplateError) -> String {
    guard let bytes = readFile(path, bytesMax: fileBytesMax), let text = String(validating: bytes, as: UTF8.self)
    else { throw TemplateError(template: path, why: "it cannot be read as UTF-8 of \(fileBytesMax) bytes at most") }
    return text
  }
}
