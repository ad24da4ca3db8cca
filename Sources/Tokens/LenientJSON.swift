/// Lenient parsing of documents in which one odd part must not invalidate the rest: key sets, metadata, profiles and
/// token responses.
///
/// Tokens use the strict reader.
extension JSONValue {
  /// Deep enough for any document, and shallow enough for the stack.
  static let lenientDepthMax = 64

  /// Parses a document. Accepts duplicate names, invalid UTF-8 (as U+FFFD) and numbers beyond `Double`. `repeats` finds
  /// the duplicates.
  static func parseLeniently(_ bytes: [UInt8], byteCountMax: Int) throws(JSONError) -> JSONValue {
    guard bytes.count <= byteCountMax else { throw .tooLarge }
    var reader = JSONReader(bytes, depthMax: lenientDepthMax, .replaced, isLenient: true)
    return try reader.document()
  }

  /// Parses a document and makes names unique: a duplicate name keeps its value if all its values are equal, else it
  /// becomes null.
  ///
  /// - Parameter decisive: names in the outermost object, or in the objects of an outermost array, whose values must
  ///   not differ. They throw `duplicateName`.
  package static func parseLeniently(
    _ bytes: [UInt8], byteCountMax: Int, decisive: Set<String>
  ) throws(JSONError) -> JSONValue {
    try parseLeniently(bytes, byteCountMax: byteCountMax).settled(decisive)
  }

  /// Returns whether an object has this name twice with different values.
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
