// Callers: which service calls, and what it may do.
//
// Owns: the table of calling services with their rights, the mapping from a certificate or an API key to one of them,
// and the keyed digests of idempotency keys.
// Does not own: the handshake that verifies a certificate (TLS), the records under the digests (Identity, Store).
// Read next: Rights.swift.

internal import Crypto
package import Store

/// A calling service as the configuration describes it.
package struct CallerSettings: Sendable {
  package var name: String
  /// Name in its client certificate with its type, `uri:…` or `dns:…`; empty without a certificate.
  package var san: String
  /// Its API keys; several are valid at the same time, so that a key can rotate.
  package var apiKeys: [APIKeySettings]
  /// Methods that it may call: `package.Service/Method`, `package.Service/*` or `*`.
  package var methods: [String]
  package var mayFetchByEmail: Bool
  package var mayMerge: Bool
  /// Whether it may name the human for whom it acts.
  package var mayNameActor: Bool
  /// Whether it may create links that the service does not email itself.
  package var mayCreateEmailLinks: Bool
  /// Audiences of the tokens that it may request and read. Its sessions are issued for the first one.
  package var audiences: [String]
  /// URIs to which providers and emailed links may send its users. They are compared byte for byte.
  package var redirectURIs: [String]
  /// Relying parties of its users' passkeys, its default first. Empty: the only one, if there is one.
  package var relyingPartyIDs: [String]

  package init(
    name: String, san: String = "", apiKeys: [APIKeySettings] = [], methods: [String],
    mayFetchByEmail: Bool = false, mayMerge: Bool = false, mayNameActor: Bool = false,
    mayCreateEmailLinks: Bool = false, audiences: [String], redirectURIs: [String] = [],
    relyingPartyIDs: [String] = []
  ) {
    self.name = name
    self.san = san
    self.apiKeys = apiKeys
    self.methods = methods
    self.mayFetchByEmail = mayFetchByEmail
    self.mayMerge = mayMerge
    self.mayNameActor = mayNameActor
    self.mayCreateEmailLinks = mayCreateEmailLinks
    self.audiences = audiences
    self.redirectURIs = redirectURIs
    self.relyingPartyIDs = relyingPartyIDs
  }
}

/// The credential that identified a caller, as the log names it.
package enum CallerCredential: String, Sendable {
  case none
  case certificate
  case apiKey = "api_key"
  case both = "certificate_and_api_key"
  /// A certificate that a trusted proxy has verified.
  case forwarded = "forwarded_certificate"
}

/// A calling service with its resolved rights.
///
/// A class, because every call passes it on several times, and a connection keeps it for all its calls.
package final class Caller: Sendable {
  package let name: CallerName
  /// Number in `CallerLabels`.
  package let label: Int
  /// False if the client presented neither a certificate nor a key.
  package let isIdentified: Bool
  package let credential: CallerCredential
  /// The API key that identified the caller.
  package let apiKey: APIKey?
  package let rights: Rights
  package let mayFetchByEmail: Bool
  // Always false for a caller without a name.
  package let mayMerge: Bool
  package let mayNameActor: Bool
  package let mayCreateEmailLinks: Bool
  package let audiences: [String]
  package let redirectURIs: [String]

  /// The caller of a method that requires no caller name.
  package static let anyone = Caller(
    CallerSettings(name: "anyone", methods: [], audiences: []), isIdentified: false, label: CallerLabels.anyone,
    paths: [])

  fileprivate init(_ settings: CallerSettings, isIdentified: Bool, label: Int, paths: [String]) {
    name = CallerName(settings.name)
    self.label = label
    self.isIdentified = isIdentified
    credential = .none
    apiKey = nil
    rights = Rights(settings.methods, paths: paths, isIdentified: isIdentified)
    mayFetchByEmail = settings.mayFetchByEmail
    mayMerge = isIdentified && settings.mayMerge
    mayNameActor = isIdentified && settings.mayNameActor
    mayCreateEmailLinks = isIdentified && settings.mayCreateEmailLinks
    audiences = settings.audiences
    redirectURIs = settings.redirectURIs
  }

  /// The same caller, identified by other credentials.
  fileprivate init(_ caller: Caller, by credential: CallerCredential, _ apiKey: APIKey?) {
    name = caller.name
    label = caller.label
    isIdentified = caller.isIdentified
    self.credential = credential
    self.apiKey = apiKey
    rights = caller.rights
    mayFetchByEmail = caller.mayFetchByEmail
    mayMerge = caller.mayMerge
    mayNameActor = caller.mayNameActor
    mayCreateEmailLinks = caller.mayCreateEmailLinks
    audiences = caller.audiences
    redirectURIs = caller.redirectURIs
  }
}

extension Caller {
  /// Throws if the caller's API key has expired.
  /// - Parameter now: read only for a key that expires.
  package func checkKey(now: @autoclosure () -> Timestamp) throws(CallerRefusal) {
    guard let apiKey, apiKey.notAfter != nil, apiKey.isExpired(at: now()) else { return }
    throw .expired(caller: apiKey.caller, key: apiKey.name)
  }
}

package enum CallerRefusal: Error, Hashable, Sendable {
  /// The client presented nothing that names a caller, and the server does not serve such callers.
  case unidentified
  /// The presented certificate or key names no known caller.
  case unknown
  /// The API key has expired.
  case expired(caller: CallerName, key: String)
  /// The certificate and the key name different callers.
  case contradictory
  /// A trusted proxy states its client's certificate in a malformed field.
  case malformedForward
  /// The request has several `authorization` fields.
  case ambiguous
}

/// All callers as one immutable value.
package struct CallerTable: Sendable {
  private let bySAN: [String: Caller]
  private let byKey: [Digest: Caller]
  private let unidentified: Caller?
  private let trustedProxies: Set<String>
  /// The keys of all callers, in the order of the configuration.
  package let apiKeys: [APIKey]

  /// - Parameter paths: every served method, `/package.Service/Method`, in the order of the method table.
  /// - Parameter unidentified: what callers without a name may do; nil: nothing.
  /// - Parameter trustedProxies: names in the certificates of proxies, in the form of `CallerSettings.san`.
  /// - Parameter previous: keys of an earlier table, whose times of last use stay known.
  package init(
    _ callers: [CallerSettings], unidentified: CallerSettings?, paths: [String], labels: CallerLabels = CallerLabels(),
    trustedProxies: Set<String> = [], previous: [APIKey] = []
  ) {
    var bySAN: [String: Caller] = [:]
    var byKey: [Digest: Caller] = [:]
    var keys: [APIKey] = []
    for settings in callers {
      let caller = CallerTable.caller(settings, isIdentified: true, paths, labels)
      if !settings.san.isEmpty { bySAN[settings.san] = caller }
      for settings in settings.apiKeys {
        let last = previous.first { $0.digest == settings.digest && $0.caller == caller.name }?.lastUseMillis ?? 0
        let key = APIKey(settings, of: caller.name, usedAtMillis: last)
        byKey[key.digest] = Caller(caller, by: .none, key)
        keys.append(key)
      }
    }
    apiKeys = keys
    self.trustedProxies = trustedProxies
    self.bySAN = bySAN
    self.byKey = byKey
    self.unidentified = unidentified.map { CallerTable.caller($0, isIdentified: false, paths, labels) }
  }

  /// Returns the identified caller with this name; nil if there is none.
  package func caller(named name: String) -> Caller? {
    bySAN.values.first { $0.name.text == name } ?? byKey.values.first { $0.name.text == name }
  }

  /// Whether a certificate is that of a proxy, whose `x-forwarded-client-cert` counts.
  package func trusts(_ certificateName: String?) -> Bool {
    !trustedProxies.isEmpty && certificateName.map(trustedProxies.contains) == true
  }

  /// Identifies the caller of a request that a trusted proxy has passed on.
  ///
  /// - Parameter certificate: the value of `x-forwarded-client-cert`; empty without one.
  package func identify(
    forwarded certificate: [UInt8], authorization: [UInt8], now: @autoclosure () -> Timestamp
  ) throws(CallerRefusal) -> Caller {
    let name: String?
    do { name = try ForwardedCertificate.name(certificate) } catch { throw .malformedForward }
    let caller = try identify(certificateName: name, authorization: authorization, now: now())
    return caller.credential == .certificate ? Caller(caller, by: .forwarded, caller.apiKey) : caller
  }

  /// Identifies the caller by its certificate, its API key or both.
  ///
  /// - Parameter certificateName: name in the verified client certificate, with its type as in `CallerSettings.san`. It
  ///   is nil without a certificate, and empty if the certificate has no name.
  /// - Parameter authorization: value of that metadata field; empty without one. A user's token that a proxy forwards
  ///   with a caller's certificate is ignored.
  /// - Parameter now: read only for a key that expires.
  package func identify(
    certificateName: String?, authorization: [UInt8], now: @autoclosure () -> Timestamp
  ) throws(CallerRefusal) -> Caller {
    let certified = try certificateName.map { name throws(CallerRefusal) in
      guard let caller = bySAN[name] else { throw .unknown }
      return caller
    }
    if authorization.isEmpty || (certified != nil && !CallerTable.resemblesKey(authorization)) {
      if let certified { return Caller(certified, by: .certificate, certified.apiKey) }
      guard let unidentified else { throw .unidentified }
      return unidentified
    }
    // An unknown key is an error, unlike a missing key: the caller must notice that its key was withdrawn.
    guard let key = CallerTable.bearer(authorization), let keyed = byKey[Digest(sha256(key))] else { throw .unknown }
    if let certified, certified.name != keyed.name { throw .contradictory }
    try keyed.checkKey(now: now())
    return Caller(keyed, by: certified == nil ? .apiKey : .both, keyed.apiKey)
  }

  private static func caller(
    _ settings: CallerSettings, isIdentified: Bool, _ paths: [String], _ labels: CallerLabels
  ) -> Caller {
    Caller(
      settings, isIdentified: isIdentified, label: labels.number(of: CallerName(settings.name)), paths: paths)
  }

  /// Returns the key in `Bearer lk_…`. The scheme is case-insensitive (RFC 9110 11.1).
  private static func bearer(_ value: [UInt8]) -> [UInt8]? {
    let scheme = Array("bearer".utf8)
    // Upper and lower case differ in one bit.
    guard value.count > scheme.count, zip(value, scheme).allSatisfy({ $0 | 0x20 == $1 }),
      value[scheme.count] == UInt8(ascii: " ")
    else { return nil }
    let key = Array(value[(scheme.count + 1)...])
    return key.starts(with: keyPrefix) ? key : nil
  }

  /// Returns whether a value was meant as an API key, even if malformed: with another scheme, without one, or in
  /// capitals.
  private static func resemblesKey(_ value: [UInt8]) -> Bool {
    value.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: ",") })
      .contains { word in
        // Upper and lower case differ in one bit, which `_` does not have.
        word.count >= keyPrefix.count
          && zip(word, keyPrefix).allSatisfy { $0 == $1 || ($0 | 0x20 == $1 && $1 != UInt8(ascii: "_")) }
      }
  }

  private static let keyPrefix = Array("lk_".utf8)
}
