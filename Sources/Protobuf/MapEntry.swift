/// One entry of a map field. On the wire a map is a list of entries, and the last entry with a key wins.
@usableFromInline package protocol MapEntry: Mapped {
  var key: String { get }
  var value: String { get }

  init(key: String, value: String)
}

extension MapEntry {
  /// Returns the entries sorted by key, so that equal maps have equal encodings.
  @safe @inlinable package static func list(_ dictionary: [String: String]) -> [Self] {
    dictionary.map { Self(key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
  }

  @safe @inlinable package static func dictionary(_ list: [Self]) -> [String: String] {
    Dictionary(list.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
  }
}
