import FoundationEssentials
import Store
import Testing

@testable import Delivery

private let now = Timestamp(millis: 1_700_000_000_000)

private func message(
  _ kind: String = "linked", locale: String = "", values: [String: String] = ["name": "Ann"], lifeMinutes: Int64 = 90
) -> DeliveryMessage {
  DeliveryMessage(
    id: "018bcfe568000abc", channel: .mail, kind: kind, recipient: "ann@example.com", locale: locale, values: values,
    createdAt: now, expiresAt: now.adding(millis: lifeMinutes * 60_000))
}

private func template(_ text: String, html: String? = nil) throws(TemplateError) -> Template {
  try Template(text, html: html, name: "t", names: ["name", "link"])
}

@Suite struct TemplateTests {
  @Test func `values are filled in, and escaped in HTML only`() throws {
    let made = try template("Subject: Hello {{name}}\n\nDear {{name}}.\n", html: "<p>{{name}}</p>")
    let words = try made.words(["name": "<A&\"'>"])
    #expect(words == Words(subject: "Hello <A&\"'>", text: "Dear <A&\"'>.\n", html: "<p>&lt;A&amp;&quot;&#39;&gt;</p>"))
  }

  @Test func `a value is never read as a template`() throws {
    #expect(try template("Subject: s\n\n{{name}}").words(["name": "{{link}}", "link": "x"]).text == "{{link}}")
  }

  @Test func `a section is kept if its value is present, and removed otherwise`() throws {
    let made = try template("Subject: s\n\na{{#link}}[{{link}}{{#name}}!{{/name}}]{{/link}}b")
    #expect(try made.words([:]).text == "ab")
    #expect(try made.words(["link": ""]).text == "ab")
    #expect(try made.words(["link": "L"]).text == "a[L]b")
    #expect(try made.words(["link": "L", "name": "N"]).text == "a[L!]b")
  }

  @Test func `a missing value or a line break in a subject fails the message`() throws {
    #expect(throws: Template.MissingValue(name: "name")) { try template("Subject: s\n\n{{name}}").words([:]) }
    for end in ["\r", "\n", "\u{0}", "\u{85}", "\u{2028}"] {
      #expect(throws: Template.MissingValue(name: "name")) {
        try template("Subject: {{name}}\n\nx").words(["name": "a\(end)Bcc: b"])
      }
    }
    #expect(try template("Subject: s\n\n{{name}}").words(["name": "a\nb"]).text == "a\nb")
  }

  @Test(arguments: [
    "", "Hello", "Subject: s\nbody", "Subject: \n\nbody", "Subject: a\u{7}b\n\nbody", "Subject: s\n\n{{other}}",
    "Subject: {{other}}\n\nbody", "Subject: s\n\n{{name", "Subject: s\n\n{{name}", "Subject: s\n\n{{#name}}x",
    "Subject: s\n\nx{{/name}}", "Subject: s\n\n{{#name}}{{#link}}{{/name}}{{/link}}", "Subject: s\n\n{{ name }}",
    "Subject: s\n\n{{#a}}",
    "Subject: s\n\n{{#name}}{{#name}}{{#name}}{{#name}}x{{/name}}{{/name}}{{/name}}{{/name}}",
  ])
  func `a template that cannot be parsed completely is rejected`(text: String) {
    #expect(throws: TemplateError.self) { try template(text) }
  }

  @Test func `a value that some messages lack is rejected outside a section of its name`() throws {
    func read(_ text: String, html: String? = nil) throws(TemplateError) {
      _ = try Template(text, html: html, name: "t", names: ["name", "link"], occasional: ["link"])
    }
    for (text, html) in [
      ("Subject: s\n\n{{link}}", nil), ("Subject: {{link}}\n\nx", nil), ("Subject: s\n\nx", "{{link}}"),
      ("Subject: s\n\n{{#name}}{{link}}{{/name}}", nil), ("Subject: s\n\n{{#link}}x{{/link}}{{link}}", nil),
    ] as [(String, String?)] {
      #expect(throws: TemplateError.self, "\(text)") { try read(text, html: html) }
    }
    try read("Subject: s\n\n{{name}}{{#link}}{{#name}}{{link}}{{/name}}{{/link}}", html: "{{#link}}{{link}}{{/link}}")
  }

  @Test func `a file with carriage returns is read like one without`() throws {
    #expect(try template("Subject: s\r\n\r\nbody").words([:]) == Words(subject: "s", text: "body"))
  }
}

@Suite struct TemplateSetTests {
  private let kinds = [TemplateKind("linked", values: ["provider_id"]), TemplateKind("phone_code", values: ["code"])]

  @Test func `the user's language is shortened until it has templates, and otherwise the default applies`() throws {
    let set = try TemplateSet(kinds)
    func subject(_ locale: String) throws -> String {
      try set.words(message(locale: locale, values: ["provider_id": "google.com"])).subject
    }
    let (german, english) = ("Ein neuer Weg zur Anmeldung", "A new way to sign in")
    for locale in ["de", "DE", "de-AT", "de_AT", "de-Latn-AT-x-wien"] { #expect(try subject(locale) == german) }
    for locale in ["", "en-GB", "fr", "d", "-", "de1"] { #expect(try subject(locale) == english) }
    let inGerman = try TemplateSet(kinds, defaultLanguage: "de")
    #expect(try inGerman.words(message(values: ["provider_id": "x"])).subject == german)
  }

  @Test func `every message has the values recipient and lifetime`() throws {
    let folder = try Folder(["en/linked.txt": "Subject: s\n\n{{to}} {{minutes}} {{hours}}"])
    let words = try TemplateSet(kinds, folder: folder.path).words(message(values: [:]))
    #expect(words.text == "ann@example.com 90 1")
  }

  @Test(arguments: [
    (0, "1 minute", "1 Minute"), (59_999, "1 minute", "1 Minute"), (600_000, "10 minutes", "10 Minuten"),
    (3_599_999, "59 minutes", "59 Minuten"), (3_600_000, "1 hour", "1 Stunde"), (5_400_000, "90 minutes", "90 Minuten"),
    (21_600_000, "6 hours", "6 Stunden"), (86_400_000, "24 hours", "24 Stunden"), (259_200_000, "3 days", "3 Tage"),
  ] as [(Int64, String, String)])
  func `a lifetime is written in the largest unit that divides it`(millis: Int64, english: String, german: String) {
    #expect(Lifetime(millis: millis).text(in: "en") == english)
    #expect(Lifetime(millis: millis).text(in: "de-at") == german)
    #expect(Lifetime(millis: millis).text(in: "fr") == nil)
  }

  @Test func `the lifetime in words exists only in languages that have its units`() throws {
    let template = "Subject: s\n\n{{lifetime}}"
    let folder = try Folder(["en-GB/linked.txt": template])
    let set = try TemplateSet(kinds, folder: folder.path)
    #expect(try set.words(message(locale: "en-GB", values: [:], lifeMinutes: 360)).text == "6 hours")
    let french = try Folder(["fr/linked.txt": template])
    #expect(throws: TemplateError.self) { try TemplateSet(kinds, folder: french.path) }
  }

  @Test func `templates in the operator's folder replace the built-in ones, kind by kind`() throws {
    let folder = try Folder([
      "en/linked.txt": "Subject: mine\n\n{{provider_id}}", "en/linked.html": "<b>{{provider_id}}</b>",
      "fr/linked.txt": "Subject: le mien\n\n{{provider_id}}",
    ])
    let set = try TemplateSet(kinds, folder: folder.path)
    let words = try set.words(message(values: ["provider_id": "<"]))
    #expect(words == Words(subject: "mine", text: "<", html: "<b>&lt;</b>"))
    #expect(try set.words(message(locale: "fr", values: ["provider_id": "x"])).subject == "le mien")
    #expect(try set.words(message("phone_code", locale: "fr", values: ["code": "123456"])).text.contains("123456"))
  }

  @Test func `a folder with an unknown file, a bad template, or HTML without text is rejected`() throws {
    for files in [
      ["en/linkd.txt": "Subject: s\n\nx"], ["en/linked.md": "Subject: s\n\nx"], ["en/linked.txt": "x"],
      ["en/linked.txt": "Subject: s\n\n{{code}}"], ["en/linked.html": "<p>x</p>"],
      ["en/linked.txt": "Subject: s\n\nx", "en/linked.html": "{{nothing}}"],
    ] {
      let folder = try Folder(files)
      #expect(throws: TemplateError.self, "\(files)") { try TemplateSet(kinds, folder: folder.path) }
    }
    #expect(throws: TemplateError.self) { try TemplateSet(kinds, folder: "/nowhere") }
  }

  @Test func `the default language must have every kind`() throws {
    let folder = try Folder(["fr/linked.txt": "Subject: s\n\nx"])
    #expect(throws: TemplateError.self) { try TemplateSet(kinds, folder: folder.path, defaultLanguage: "fr") }
    #expect(throws: TemplateError.self) { try TemplateSet([TemplateKind("unheard_of", values: [])]) }
  }

  @Test func `both built-in languages have the same kinds`() {
    #expect(Set(BuiltIn.english.keys) == Set(BuiltIn.german.keys))
  }
}

/// Template files in a folder that is removed with this object.
private final class Folder {
  let path: String

  init(_ files: [String: String]) throws {
    path = "/tmp/latchkey-templates-\(UInt64.random(in: 0 ... .max))"
    for (name, text) in files {
      let file = path + "/" + name
      let folder = String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)])
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data(text.utf8).write(to: URL(filePath: file))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
