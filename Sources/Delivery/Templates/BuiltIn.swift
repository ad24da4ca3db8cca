/// The words that the program brings along.
enum BuiltIn {
  static let languages: [(tag: String, [String: String])] = [("en", english), ("de", german)]
}
