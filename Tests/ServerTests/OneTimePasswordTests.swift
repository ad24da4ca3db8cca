import Crypto
import Identity
import Store
import Testing

@testable import Server

private let keys = Result { try DerivedKeys(masterKeys: [Secret(copying: [UInt8](repeating: 1, count: 32))]) }
private let secret = Array("12345678901234567890".utf8)

@Test(arguments: zip(
  0..<10 as Range<Int64>,
  ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"]))
func `codes match RFC 4226, Appendix D`(counter: Int64, code: String) throws {
  #expect(TOTP.code(secret, step: counter, try keys.get()) == code)
}

@Test(arguments: [
  (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
  (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
] as [(Int64, String)])
func `codes match RFC 6238, Appendix B`(seconds: Int64, code: String) throws {
  let step = TOTP.step(at: Timestamp(millis: seconds * 1_000))
  #expect(TOTP.code(secret, step: step, digits: 8, try keys.get()) == code)
}
