internal import COpenSSL

/// The name in the peer's certificate.
package enum PeerName: Hashable, Sendable {
  case none
  /// The name with its type, so that no DNS name equals a URI: `uri:spiffe://…` or `dns:…`, the latter in lower case.
  case name(String)
  /// The peer has presented a valid certificate without a usable name.
  case unusable

  /// Reads the name from a DER certificate that another component has already verified.
  package init(certificate der: [UInt8]) {
    unsafe self.init { text, count in unsafe lk_tls_der_name(der, der.count, text, count) }
  }

  /// - Parameter read: Writes the name and returns its length. 0: there is no certificate; negative: it has no usable
  ///   name.
  init(_ read: (UnsafeMutablePointer<CChar>?, Int32) -> Int32) {
    self = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2048) { text in
      let bytes = unsafe read(text.baseAddress, Int32(text.count))
      guard bytes > 0 else { return bytes == 0 ? .none : .unusable }
      let name = unsafe text[..<Int(bytes)].map { UInt8(bitPattern: $0) }
      return String(validating: name, as: UTF8.self).map(PeerName.name) ?? .unusable
    }
  }
}
