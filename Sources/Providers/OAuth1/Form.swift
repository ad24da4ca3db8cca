import Encodings

/// Parameters of a form or a query (application/x-www-form-urlencoded), in order. A name may occur twice: OAuth 1.0a
/// signs both.
package struct Form: Hashable, Sendable {
  package var parameters: [Parameter]

  package init(_ parameters: [Parameter] = []) { self.parameters = parameters }

  /// Parses a form. Returns nil for a broken escape and for invalid UTF-8. A name without an equals sign has an empty
  /// value.
  package init?(parsing bytes: [UInt8]) {
    guard let pairs = FormEncoding.pairs(bytes[...]) else { return nil }
    parameters = pairs.map { Parameter($0.name, $0.value) }
  }

  /// The value of a name; nil if the name is absent or occurs twice, because two readers could choose differently.
  package subscript(name: String) -> String? {
    let values = parameters.filter { $0.name == name }.map(\.value)
    return values.count == 1 ? values.first : nil
  }
}
