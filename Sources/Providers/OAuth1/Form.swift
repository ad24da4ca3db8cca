import Encodings

/// Parameters as a form or a query has them (application/x-www-form-urlencoded), in their order. A name may occur
/// twice: signatures of OAuth 1.0a count both.
package struct Form: Hashable, Sendable {
  package var parameters: [Parameter]

  package init(_ parameters: [Parameter] = []) { self.parameters = parameters }

  /// nil for a broken escape, and for what is no UTF-8. A name without a sign of equality has an empty value.
  package init?(parsing bytes: [UInt8]) {
    guard let pairs = FormEncoding.pairs(bytes[...]) else { return nil }
    parameters = pairs.map { Parameter($0.name, $0.value) }
  }

  /// nil where the name is not there, and where it is there twice: two readers could choose differently.
  package subscript(name: String) -> String? {
    let values = parameters.filter { $0.name == name }.map(\.value)
    return values.count == 1 ? values.first : nil
  }
}
