import FoundationEssentials

/// One text file of the repository, by its path below the root.
struct TextFile: Sendable {
  let path: String
  let lines: [String]
  /// The lines without comments and without the contents of strings.
  let code: [String]
  /// The modules that a Swift file imports.
  let imports: [String]

  init(path: String, text: String) {
    self.path = path
    lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    code = path.hasSuffix(".swift") ? TextFile.code(lines) : lines
    imports = code.filter { $0.contains("import ") }.compactMap { line in
      line.wholeMatch(of: /(?:@\w+ )?(?:internal |package |private |fileprivate |public )?import (\w+)\s*/)
        .map { String($0.1) }
    }
  }

  var isSwift: Bool { path.hasSuffix(".swift") }

  /// `Observability` of `Sources/Observability/Log.swift`; nil outside of Sources.
  var module: String? {
    path.hasPrefix("Sources/") ? path.split(separator: "/").dropFirst().first.map(String.init) : nil
  }

  /// The comment at the start of the file.
  var opening: String { lines.prefix { $0.hasPrefix("//") }.joined(separator: "\n") }

  private static func code(_ lines: [String]) -> [String] {
    let delimiter = "\"\"\""
    var isInText = false
    return lines.map { line in
      let opensOrCloses = !line.ranges(of: delimiter).count.isMultiple(of: 2)
      defer { if opensOrCloses { isInText.toggle() } }
      if isInText { return "" }
      let outside = opensOrCloses ? line.split(separator: delimiter).first.map(String.init) ?? "" : line
      return withoutStringsAndComments(outside)
    }
  }

  private static func withoutStringsAndComments(_ line: String) -> String {
    guard line.contains("\"") || line.contains("//") else { return line }
    var kept: [UInt8] = []
    var isInString = false
    var previous: UInt8 = 0
    for byte in line.utf8 {
      if byte == UInt8(ascii: "\""), previous != UInt8(ascii: "\\") {
        isInString.toggle()
      } else if !isInString {
        if byte == UInt8(ascii: "/"), previous == byte { return String(decoding: kept.dropLast(), as: UTF8.self) }
        kept.append(byte)
      }
      previous = byte == previous && byte == UInt8(ascii: "\\") ? 0 : byte
    }
    return String(decoding: kept, as: UTF8.self)
  }
}

/// The checked-out repository, without the output of generators and builds.
enum Tree {
  static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

  /// Files written by hand. Another test compares the generated messages with their generators.
  static let files: [TextFile] = ["Sources", "Tests", "deploy", "proto"].flatMap(textFiles) + [read("Package.swift")]
  static let sources = files.filter { $0.isSwift && $0.module != nil }

  static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root + "/" + path) }

  /// Every file of the folders with this many bytes or more, generated ones excepted.
  static func largeFiles(bytesMin: Int) -> [String] {
    ["Sources", "Tests", "deploy", "proto"].flatMap { folder in
      (try? FileManager.default.subpathsOfDirectory(atPath: root + "/" + folder))?.map { folder + "/" + $0 } ?? []
    }.filter { path in
      guard !generated.contains(where: path.hasPrefix), !path.contains("/.build/"), isFile(path) else { return false }
      let attributes = try? FileManager.default.attributesOfItem(atPath: root + "/" + path)
      return (attributes?[.size] as? UInt64 ?? 0) >= bytesMin
    }.sorted()
  }

  private static let generated = [
    "Sources/C/Messages/", "Sources/API/Generated/", "Sources/Sealed/Generated/", "Sources/Telemetry/Generated/",
    "Sources/HookMessages/Generated/", "Sources/Crypto/Generated/", "deploy/clients/python/build/",
    "deploy/clients/swift/Sources/LatchkeyClient/Generated/",
  ]
  private static let endings = [".swift", ".h", ".c", ".py", ".proto", ".json5", ".sh"]

  private static func textFiles(below folder: String) -> [TextFile] {
    let paths = (try? FileManager.default.subpathsOfDirectory(atPath: root + "/" + folder)) ?? []
    return paths.map { folder + "/" + $0 }.filter { path in
      guard !generated.contains(where: path.hasPrefix), !path.contains("/.") else { return false }
      // The scripts have no file name extension.
      let isScript = path.hasPrefix("deploy/") && !path.dropFirst("deploy/".count).contains { ".,/".contains($0) }
      return isScript || endings.contains(where: path.hasSuffix)
    }
    .filter(isFile).sorted().map(read)
  }

  private static func isFile(_ path: String) -> Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: root + "/" + path)
    return attributes?[.type] as? FileAttributeType == .typeRegular
  }

  private static func read(_ path: String) -> TextFile {
    guard let bytes = FileManager.default.contents(atPath: root + "/" + path) else {
      preconditionFailure("\(path) cannot be read")
    }
    return TextFile(path: path, text: String(decoding: bytes, as: UTF8.self))
  }
}
