/// Reads documents in which one odd part must not spoil the others: key sets, metadata, profiles and token answers.
///
/// Tokens stay with the strict reader.
extension JSONValue {
  /// Deeper than any document needs, and shallow enough for the stack.
  static let lenientDepthMax = 64

  /// Accepts repeated names, invalid UTF-8 (as U+FFFD) and numbers that no `Double` holds. `repeats` finds the names.
  static func parseLeniently(_ bytes: [UInt8], byteCountMax: Int) throws(JSONError) -> JSONValue {
    guard bytes.count <= byteCountMax else { throw .tooLarge }
    var reader = JSONReader(bytes, depthMax: lenientDepthMax, .replaced, isLenient: true)
    return try reader.document()
  }

  /// The same with each name once: a repeated name has its value where all its values agree, else null.
  ///
  /// - Parameter decisive: names in the outermost object, or in the objects of an outermost list, whose values must not
  ///   differ; they throw `duplicateName`.
  package static func parseLeniently(
    _ bytes: [UInt8], byteCountMax: Int, decisive: Set<String>
  ) throws(JSONError) -> JSONValue {
    try parseLeniently(bytes, byteCountMax: byteCountMax).settled(decisive)
  }

  /// Whether an object has this name twice, with different values.
  func repeats(_ name: String) -> Bool {
    let values = (members ?? []).lazy.filter { $0.isNamed(name) }.map(\.value)
    guard let first = values.first else { return false }
    return values.contains { $0 != first }
  }

  private func settled(_ decisive: Set<String>) throws(JSONError) -> JSONValue {
    switch self {
    case .array(let values):
      return .array(try values.map { value throws(JSONError) in try value.settled(decisive) })
    case .object(let members):
      var settled: [JSONMember] = []
      var places: [String: Int] = [:]
      for member in members {
        let value = try member.value.settled([])
        guard let place = places[member.name] else {
          places[member.name] = settled.count
          settled.append(JSONMember(member.name, value))
          continue
        }
        guard settled[place].value != value else { continue }
        guard !decisive.contains(member.name) else { throw .duplicateName(member.name) }
        settled[place] = JSONMember(member.name, .null)
      }
      return .object(settled)
    case .null, .bool, .int, .double, .string: return self
    }
  }
}
