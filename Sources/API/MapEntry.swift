/// What a map is on the wire: a list of pairs, of which the last with the same key counts.
protocol MapEntry: Mapped {
  var key: String { get }
  var value: String { get }

  init(key: String, value: String)
}

extension MapEntry {
  /// By key, so that the same map is always the same bytes.
  @safe static func list(_ dictionary: [String: String]) -> [Self] {
    dictionary.map { Self(key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
  }

  @safe static func dictionary(_ list: [Self]) -> [String: String] {
    Dictionary(list.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
  }
}
