/// A configuration with all of its faults, so that an operator can correct a file in one go.
package struct ExaminedSettings: Sendable {
  /// nil: the file cannot be read so far that anything could be said of the files that it names.
  package var settings: Settings?
  /// In the order in which they were found, one of each setting; empty: `settings` can be used.
  package var faults: [ConfigurationError]
}

extension Settings {
  /// More are not looked for: a file with so many was never meant for us.
  private static let faultsMax = 100

  /// Reads the file, the environment, and the files that the settings name.
  package static func examine(_ path: String) -> ExaminedSettings {
    do throws(ConfigurationError) {
      var examined = examine(try file(path), folder: folder(of: path), environment: environment())
      examined.settings?.configurationFile = path
      examined.addFaultsOfFiles()
      return examined
    } catch {
      return ExaminedSettings(settings: nil, faults: [error])
    }
  }

  /// After each fault the file is read again as if the wrong value were not there. Where a value must be set, a
  /// stand-in takes its place. An element of a list that still cannot be read is left out.
  package static func examine(
    _ bytes: [UInt8], folder: String, environment: [String: String]
  ) -> ExaminedSettings {
    var environment = environment.filter { !Variables.isOfKubernetes($0.key, $0.value) }
    var faults: [ConfigurationError] = []
    var attempts: [String: Mending] = [:]
    // What an element lacks once a fault in it was taken out may not be missing in the file.
    var mended: Set<[ConfigPath.Step]> = []
    do throws(ConfigurationError) {
      var tree = try ConfigNode.parse(bytes)
      while true {
        do throws(ConfigurationError) {
          return ExaminedSettings(settings: try read(tree, folder: folder, environment), faults: faults)
        } catch {
          let setting = error.setting, path = ConfigPath(setting)
          let next = attempts[setting].map(\.next) ?? .remove
          if next == .remove, path.element.map({ !mended.contains($0) }) ?? true || tree.has(path.steps) {
            faults.append(error)
          }
          guard let next, faults.count < faultsMax else { return ExaminedSettings(settings: nil, faults: faults) }
          attempts[setting] = next
          if tree.has(path.steps), let element = path.element { mended.insert(element) }
          environment[SettingsReader.variable(at: setting)] = nil
          next.mend(&tree, at: path, number: attempts.count)
        }
      }
    } catch {
      return ExaminedSettings(settings: nil, faults: [error])
    }
  }
}

extension ExaminedSettings {
  /// A file of a setting that is at fault itself is not looked for.
  fileprivate mutating func addFaultsOfFiles() {
    let known = Set(faults.map(\.setting))
    faults += (settings?.faultsOfFiles() ?? []).filter { !known.contains($0.setting) }
  }
}

/// What is done about a fault so that the reading gets past it.
private enum Mending {
  case remove, standIn, leaveOut

  var next: Mending? {
    switch self {
    case .remove: .standIn
    case .standIn: .leaveOut
    case .leaveOut: nil
    }
  }

  func mend(_ tree: inout ConfigNode, at path: ConfigPath, number: Int) {
    switch self {
    case .remove: tree.set(path.steps, nil)
    // A text that serves for most of what has to be set, such as the name of a caller, and that no other has.
    case .standIn: tree.set(path.steps, .text("dns:unset\(number)"))
    case .leaveOut: path.element.map { tree.set($0, .leftOut) }
    }
  }
}

/// `callers[0].san`, as steps.
struct ConfigPath {
  enum Step: Hashable {
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

  /// The way to the innermost element of a list; nil: it is in none.
  var element: [Step]? {
    let last = steps.lastIndex { !$0.isName }
    return last.map { Array(steps[...$0]) }
  }
}

extension ConfigNode {
  /// Whether the file has a value there.
  func has(_ steps: some Collection<ConfigPath.Step>) -> Bool {
    guard let step = steps.first else { return true }
    switch (step, self) {
    case (.name(let name), .object(let members)): return members[name]?.has(steps.dropFirst()) ?? false
    case (.index(let index), .list(let elements)) where elements.indices.contains(index):
      return elements[index].has(steps.dropFirst())
    default: return false
    }
  }

  /// - Parameter value: nil: as if nothing stood there. A list keeps its length, so that the others keep their numbers.
  mutating func set(_ steps: some Collection<ConfigPath.Step>, _ value: ConfigNode?) {
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
