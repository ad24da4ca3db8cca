/// The built-in message texts.
enum BuiltIn {
  static let languages: [(tag: String, [String: String])] = [("en", english), ("de", german)]
}
