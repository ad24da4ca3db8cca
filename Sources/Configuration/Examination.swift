/// A configuration with all its errors, so that an operator can correct a file in one step.
package struct ExaminedSettings: Sendable {
  /// The settings; `nil` if the file is not readable enough to check the files that it names.
  package var settings: Settings?
  /// Errors in the order of detection, one per setting. Empty if `settings` is usable.
  package var faults: [ConfigurationError]
}

/// What a configuration is checked for.
package enum Occasion: Sendable {
  case start
  /// The server has the files that only a start reads, or reads them on its own. A fault of one of these must not keep
  /// an operator from removing a stolen API key.
  case reload
}

extension Settings {
  /// Maximum number of errors. A file with more is probably not a configuration file.
  private static let faultsMax = 100

  /// Checks the file, the environment and the files that the settings name.
  package static func examine(_ path: String, for occasion: Occasion = .start) -> ExaminedSettings {
    do throws(ConfigurationError) {
      var examined = examine(try file(path), folder: folder(of: path), environment: environment())
      examined.settings?.configurationFile = path
      examined.addFaultsOfFiles(for: occasion)
      return examined
    } catch {
      return ExaminedSettings(settings: nil, faults: [error])
    }
  }

  /// Checks the content of a file. After each error it reads the file again without the wrong value. A placeholder
  /// replaces a required value. A list element that is still unreadable is skipped.
  package static func examine(
    _ bytes: [UInt8], folder: String, environment: [String: String]
  ) -> ExaminedSettings {
    var environment = environment.filter { !Variables.isOfKubernetes($0.key, $0.value) }
    var faults: [ConfigurationError] = []
    var attempts: [String: Fix] = [:]
    // After an error in an element is removed, a value that the element lacks may exist in the file.
    var fixed: Set<[ConfigPath.Step]> = []
    do throws(ConfigurationError) {
      var tree = try ConfigNode.parse(bytes)
      while true {
        do throws(ConfigurationError) {
          return ExaminedSettings(settings: try read(tree, folder: folder, environment), faults: faults)
        } catch {
          let setting = error.setting, path = ConfigPath(setting)
          let next = attempts[setting].map(\.next) ?? .remove
          if next == .remove, path.element.map({ !fixed.contains($0) }) ?? true || tree.has(path.steps) {
            faults.append(error)
          }
          guard let next, faults.count < faultsMax else { return ExaminedSettings(settings: nil, faults: faults) }
          attempts[setting] = next
          if tree.has(path.steps), let element = path.element { fixed.insert(element) }
          environment[SettingsReader.variable(at: setting)] = nil
          next.apply(to: &tree, at: path, number: attempts.count)
        }
      }
    } catch {
      return ExaminedSettings(settings: nil, faults: [error])
    }
  }
}

extension ExaminedSettings {
  /// Adds the errors of files, except for settings that have an error of their own.
  fileprivate mutating func addFaultsOfFiles(for occasion: Occasion) {
    let known = Set(faults.map(\.setting))
    faults += (settings?.faultsOfFiles(for: occasion) ?? []).filter { !known.contains($0.setting) }
  }
}

/// A repair of the tree that lets the reader continue after an error.
private enum Fix {
  case remove, standIn, leaveOut

  var next: Fix? {
    switch self {
    case .remove: .standIn
    case .standIn: .leaveOut
    case .leaveOut: nil
    }
  }

  func apply(to tree: inout ConfigNode, at path: ConfigPath, number: Int) {
    switch self {
    case .remove: tree.set(path.steps, nil)
    // A unique text that is valid for most required settings, such as the name of a caller.
    case .standIn where path.steps.last != .name("sha256"): tree.set(path.steps, .text("dns:unset\(number)"))
    case .standIn:
      let digits = String(number)
      tree.set(path.steps, .text(String(repeating: "0", count: 64 - digits.count) + digits))
    case .leaveOut: path.element.map { tree.set($0, .leftOut) }
    }
  }
}

/// A path such as `callers[0].san`, as steps.
package struct ConfigPath {
  package enum Step: Hashable {
    case name(String)
    case index(Int)

    var isName: Bool { if case .name = self { true } else { false } }
  }

  let steps: [Step]

  init(_ setting: String) {
    steps = setting.split(separator: ".").flatMap { part -> [Step] in
      let pieces = part.split(separator: "[")
      let indices = pieces.dropFirst().compactMap { Int($0.dropLast()) }
      return [.name(String(pieces.first ?? ""))] + indices.map(Step.index)
    }
  }

  /// The path to the innermost list element; `nil` if the path is in no list.
  var element: [Step]? {
    let last = steps.lastIndex { !$0.isName }
    return last.map { Array(steps[...$0]) }
  }
}

extension ConfigNode {
  /// Whether the file has a value at this path.
  package func has(_ steps: some Collection<ConfigPath.Step>) -> Bool {
    guard let step = steps.first else { return true }
    switch (step, self) {
    case (.name(let name), .object(let members)): return members[name]?.has(steps.dropFirst()) ?? false
    case (.index(let index), .list(let elements)) where elements.indices.contains(index):
      return elements[index].has(steps.dropFirst())
    default: return false
    }
  }

  /// Sets or removes a value. A list keeps its length, so that the other elements keep their indexes.
  /// - Parameter value: the new value; `nil` removes it.
  package mutating func set(_ steps: some Collection<ConfigPath.Step>, _ value: ConfigNode?) {
    guard let step = steps.first else { return self = value ?? .leftOut }
    let rest = steps.dropFirst()
    switch (step, self) {
    case (.name(let name), .object(var members)):
      if rest.isEmpty {
        members[name] = value
      } else if members[name] != nil || (value != nil && rest.first?.isName == true) {
        var member = members[name] ?? .object([:])
        member.set(rest, value)
        members[name] = member
      }
      self = .object(members)
    case (.name, .nothing):
      self = .object([:])
      set(steps, value)
    case (.index(let index), .list(var elements)) where elements.indices.contains(index):
      elements[index].set(rest, value)
      self = .list(elements)
    default: break
    }
  }
}
