import Testing

// One name has one meaning in the whole tree. The names here are of the first design; a standard term replaced each.

/// Type, file and module names that must not come back, and what replaced them. A name is also found as the beginning
/// or the end of a longer name in camel case, such as `DeskCommand` or `otherDesk`.
private let replaced = [
  "Admission": "Callers", "Bell": "AsyncEvent", "Census": "ConnectionCounts", "Courier": "DeliveryWorker",
  "Desk": "HandlerContext, CommandContext, ConnectionPool", "Fate": "CommitDecision", "House": "StoreThread",
  "Lane": "Pipeline, ProviderQueue, CallSlot", "Letter": "Command, DeliveryMessage", "Mailbox": "CommandQueue",
  "Moving": "StoreMigration", "PasswordDesk": "PasswordHashing", "ProvedWayIn": "VerifiedMethod",
  "ProviderDesk": "ProviderGateway", "Reach": "Availability", "Road": "MessageTransport",
  "Tallies": "StoreCounters", "TokenDesk": "TokenIssuer", "Vault": "DerivedKeys", "Wants": "ConnectionWaiters",
  "WaysIn": "SignInMethods", "Wire": "API",
]

/// What replaced a name, or the beginning or end of it. Those that are also parts of ordinary names count only alone.
private func replacement(of name: Substring) -> String? {
  if let whole = replaced[String(name)] { return whole }
  return parts.lazy.compactMap { part in
    let isFirst = name.hasPrefix(part) && name.dropFirst(part.count).first?.isUppercase == true
    return isFirst || name.hasSuffix(part) ? replaced[part] : nil
  }.first
}

private let parts = ["Admission", "Census", "Courier", "Desk", "Fate", "Road", "Tallies", "Vault", "WaysIn"]

/// Every identifier of a line of code.
private func identifiers(_ code: String) -> [Substring] {
  code.utf8.split { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      false
    default: true
    }
  }.map { Substring($0) }
}

@Test func `a name that a standard term has replaced does not come back`() {
  let back = Tree.files.filter(\.isSwift).flatMap { file in
    file.code.enumerated().flatMap { number, code in
      identifiers(code).compactMap { name in
        replacement(of: name).map { "\(file.path):\(number + 1): \(name) is \($0) now" }
      }
    }
  }
  #expect(back == [])
  let files = Tree.files.map { $0.path.split(separator: "/").last.map(String.init) ?? "" }
  #expect(files.filter { name in replaced.keys.contains { name == "\($0).swift" } } == [])
}

/// Words of the first design that a reader had to learn, in comments and texts.
private let privateWords = [
  "way in", "ways in", "telephone", "mailed link", "unproved", "meanwhile", "anew", "for ever", "of itself",
]

@Test func `comments and texts of the program and its tests use no private words`() {
  let excluded = ["/Generated/", "VocabularyTests.swift"]
  let files = Tree.files.filter { file in file.isSwift && !excluded.contains { file.path.contains($0) } }
  let wrong = files.flatMap { file in
    file.lines.enumerated().flatMap { number, line in
      let line = line.lowercased()
      return privateWords.filter { word in
        line.ranges(of: word).contains { range in
          let before = line[..<range.lowerBound].last, after = line[range.upperBound...].first
          return before?.isLetter != true && after?.isLetter != true
        }
      }.map { "\(file.path):\(number + 1): \($0)" }
    }
  }
  #expect(wrong == [])
}

@Test func `the number of opt-outs from the compiler's concurrency check does not grow`() {
  let unchecked = Tree.sources.flatMap(\.code).count { $0.contains("nonisolated(unsafe)") }
  #expect(unchecked <= 21)
}

@Test func `the tree has no binary or large file`() {
  // The vectors of checks that two implementations agree on.
  let vectors = [
    "Tests/ProvidersTests/Fixtures/signed_requests.jsonl", "Tests/WebAuthnTests/Fixtures/registrations.jsonl",
  ]
  #expect(Tree.largeFiles(bytesMin: 262_144) == vectors)
}

/// Names that a protocol of another package requires.
private let required: Set = [
  "makeCounter", "makeMeter", "makeRecorder", "makeTimer", "destroyCounter", "destroyMeter", "destroyRecorder",
  "destroyTimer", "startAnySpan", "forceFlush", "isRecording", "addEvent", "addLink",
]

@Test func `every declaration is used`() {
  var uses: [Substring: Int] = [:]
  for file in Tree.files where file.isSwift {
    for line in file.lines {
      // Names inside an interpolation count, those in a comment do not.
      for name in identifiers(line.components(beforeFirst: "//")) { uses[name, default: 0] += 1 }
    }
  }
  let declaration = /\b(?:func|var|let|struct|class|enum|typealias|protocol) `?([A-Za-z_]\w*)/
  let dead = Tree.sources.flatMap { file in
    file.code.enumerated().flatMap { number, code in
      code.matches(of: declaration).map(\.output.1).filter { uses[$0] == 1 && !required.contains(String($0)) }
        .map { "\(file.path):\(number + 1): \($0)" }
    }
  }
  #expect(dead == [])
}

extension String {
  fileprivate func components(beforeFirst mark: String) -> String {
    range(of: mark).map { String(self[..<$0.lowerBound]) } ?? self
  }

  fileprivate func range(of mark: String) -> Range<Index>? { ranges(of: mark).first }
}
