import Identity
import Store
import Text

extension FuzzTarget {
  /// User input: an email address, a password, a phone number. Each has exactly one normal form.
  static let address = FuzzTarget("address", seeds: addressSeeds) { input in
    let text = String(decoding: input, as: UTF8.self)
    if let address = try? normaliseEmail(text) { checkNormalised(address) }
    let password = normalisePassword(text)
    law(isSame(normalisePassword(password), password), "a password has two spellings")
    law(password.utf8.count <= 18 * text.utf8.count, "a password of \(password.utf8.count) bytes")
    if let number = try? e164(text) {
      law(isSame((try? e164(number)) ?? "", number), "a number has two spellings")
      law((8...16).contains(number.utf8.count), "a number of \(number.utf8.count) bytes")
    }
  }

  static func checkNormalised(_ address: String) {
    law(isSame((try? normaliseEmail(address)) ?? "", address), "\(address) has another spelling")
    law((3...254).contains(address.utf8.count), "an address of \(address.utf8.count) bytes")
    let parts = address.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count <= 64 else { return law(false, "\(address) is no address") }
    law(!parts[0].contains { $0 <= 0x20 || $0 == 0x7F }, "\(address) has blanks or controls")
    let isHost = parts[1].allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
        UInt8(ascii: "."):
        true
      default: false
      }
    }
    law(isHost && parts[1].contains(UInt8(ascii: ".")), "\(address) is at no host")
  }

  /// Compares bytes, since Swift's own comparison treats canonically equivalent texts as equal.
  private static func isSame(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
}
