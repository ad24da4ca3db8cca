import Configuration
import Crypto
import Identity
import Server
import Store
import TLS

extension FuzzTarget {
  /// The sealed contents of a pending row: what is read is written and read again as the same value, and only sealed
  /// bytes can be opened.
  static let pending = FuzzTarget("pending", seeds: pendingSeeds) { input in
    if let held = PendingAssertion(packed: input) {
      law(PendingAssertion(packed: held.packed) == held, "an assertion changes when it is written")
    }
    if let held = PendingCode(packed: input) {
      law(PendingCode(packed: held.packed) == held, "a code changes when it is written")
    }
    law((try? sealing.open(input, context: input)) == nil, "unsealed bytes are opened")
    let sealed = sealing.seal(input, context: [1])
    law((try? sealing.open(sealed, context: [1])) == input, "a sealed row is not opened")
    law((try? sealing.open(sealed, context: [2])) == nil, "a sealed row is opened as another")
    var damaged = sealed
    damaged[input.count % damaged.count] ^= 1 << ((input.first ?? 0) % 8)
    law((try? sealing.open(damaged, context: [1])) == nil, "a damaged row opens")
  }

  private static let sealing: SealingKeys = {
    let secret = Secret(copying: [UInt8](repeating: 7, count: 32))
    guard let keys = try? SealingKeys([secret]) else { fatalError("no keys") }
    return keys
  }()

  /// Files with keys, and the signing keys of the store.
  static let keyFiles = FuzzTarget("key_files", seeds: keyFileSeeds) { input in
    if let key = MasterKey.key(in: input) { law(key.count == 32, "a master key of \(key.count) bytes") }
    if let key = try? PrivateKey(pkcs8: Secret(copying: input)), let algorithm = key.kind.algorithms.first,
      key.kind != .rsa
    {
      let signature = try? key.sign([1], algorithm)
      let isGood = (try? key.publicKey())?.verify(signature: signature ?? [], of: [1], algorithm) == true
      law(isGood, "a key that cannot sign is accepted")
    }
  }

  /// A certificate chain, a NUL, a key; after another NUL the authorities of clients. The result is a TLS context, or
  /// an error that names the setting.
  static let pemFiles = FuzzTarget("pem_files", seeds: pemSeeds) { input in
    var reader = InputReader(input)
    let certificates = MemoryFile(reader.bytes(until: 0))
    let key = MemoryFile(reader.bytes(until: 0))
    let authorities = MemoryFile(reader.rest())
    var settings = TLSSettings(certificateFile: certificates.path, keyFile: key.path)
    settings.clientAuthorityFile = authorities.path
    settings.clientCertificates = .optional
    do throws(TLSError) {
      _ = try CurrentContext(settings, wallMillis: 1_800_000_000_000, monotonicMillis: 0)
    } catch {
      law(["tls.certificate_file", "tls.key_file", "tls.client_ca_file"].contains(error.setting), "\(error)")
      law(!error.why.contains("\n"), "an error of several lines")
    }
  }

  /// A verified client certificate in DER. The result is a name that can be compared, or none.
  static let certificate = FuzzTarget("certificate", seeds: certificateSeeds) { input in
    switch PeerName(certificate: input) {
    case .none, .unusable: break
    case .name(let name):
      law(!name.isEmpty && name.utf8.count <= 2_048 && !name.utf8.contains(0), "a name of \(name.utf8.count) bytes")
    }
  }
}
