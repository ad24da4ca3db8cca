import Store

/// Passkeys for an email address without any (P9).
///
/// Keyed digests make them, so no caller can compute them, and servers with the same master key make the same ones.
/// They look and change like those of accounts. In each of its places a passkey stays for one to four years. Then
/// another one takes its place, or none, as if the user replaced a device.
private enum MadeUpPasskey {
  /// The chance of a passkey in each place, of 256.
  static let chances = [256, 77, 31, 13]
  private static let yearMillis: Int64 = 365 * 86_400_000

  /// Returns which passkey of a place it is at this time.
  /// - Parameter pace: random bytes.
  static func turn(_ pace: [UInt8], at now: Timestamp) -> Int64 {
    let numbers = [pace[0..<2], pace[2..<4]].map { $0.reduce(0) { $0 << 8 | Int64($1) } }
    let stayMillis = yearMillis + (3 * yearMillis * numbers[0]) / 65_536
    return (now.millis + (stayMillis * numbers[1]) / 65_536) / stayMillis
  }

  /// The transports and credential ids of common authenticators, with their shares of 256.
  static let models: [(transports: [String], idBytes: Int, share: Int)] = [
    (["hybrid", "internal"], 20, 70), (["hybrid", "internal"], 16, 36), (["hybrid", "internal"], 32, 30),
    (["internal"], 32, 44), (["internal"], 16, 18), (["internal"], 20, 4), (["nfc", "usb"], 48, 12),
    (["nfc", "usb"], 64, 12), (["usb"], 64, 8), (["usb"], 48, 8),
    // What is shown of rare transports: each of these lengths without any.
    ([], 32, 6), ([], 16, 3), ([], 20, 2), ([], 48, 1), ([], 64, 2),
  ]

  /// The last bytes of an id, by which the server recognizes it.
  static let markBytes = 8

  static func model(_ random: UInt8) -> (transports: [String], idBytes: Int) {
    var rest = Int(random)
    for model in models {
      if rest < model.share { return (model.transports, model.idBytes) }
      rest -= model.share
    }
    return (models[0].transports, models[0].idBytes)
  }
}

extension Environment {
  func madeUpPasskeys(for email: String, at relyingPartyID: String, now: Timestamp) -> [NamedPasskey] {
    MadeUpPasskey.chances.indices.compactMap { place in
      let pace = keyed("pace", "\(place)", email, relyingPartyID)
      let turn = "\(place) \(MadeUpPasskey.turn(pace, at: now))"
      let shape = keyed("shape", turn, email, relyingPartyID)
      let bytes = keyed("id", turn, email, relyingPartyID) + keyed("more", turn, email, relyingPartyID)
      let model = MadeUpPasskey.model(shape[1])
      let id = bytes.prefix(model.idBytes - MadeUpPasskey.markBytes)
      let passkey = NamedPasskey(credentialID: id + mark(of: id), transports: model.transports)
      return Int(shape[0]) < MadeUpPasskey.chances[place] ? passkey : nil
    }
  }

  /// Whether `madeUpPasskeys` made a credential id, for any address and time. Authenticators make none of these.
  func isMadeUp(_ credentialID: [UInt8]) -> Bool {
    let id = credentialID.dropLast(MadeUpPasskey.markBytes)
    return !id.isEmpty && cryptography.equal(Array(credentialID.suffix(MadeUpPasskey.markBytes)), mark(of: id))
  }

  private func mark(of id: ArraySlice<UInt8>) -> [UInt8] {
    let digest = cryptography.keyedDigest(Array(id), purpose: "mark of made-up passkeys")
    return Array(digest.bytes.prefix(MadeUpPasskey.markBytes))
  }

  private func keyed(_ parts: String...) -> [UInt8] {
    var packer = Packer()
    for part in parts { packer.append(part) }
    return cryptography.keyedDigest(packer.bytes, purpose: "made-up passkeys").bytes
  }
}

extension NamedPasskey {
  /// The passkey with transports that made-up ones with an id of this length may also have. Rare pairs would show that
  /// the account exists. Without any transport, the client tries each.
  var withCommonTransports: NamedPasskey {
    let sorted = Array(Set(transports)).sorted()
    let isCommon = MadeUpPasskey.models.contains { $0.transports == sorted && $0.idBytes == credentialID.count }
    return NamedPasskey(credentialID: credentialID, transports: isCommon ? sorted : [])
  }
}
