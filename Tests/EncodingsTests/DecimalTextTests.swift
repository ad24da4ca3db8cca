import Encodings
import Testing

@Suite struct DecimalTextTests {
  @Test(arguments: [0, 7, 10, 99, 1_000_000, 1_790_000_000, -1, -10, .max, .min] as [Int64])
  func `a number is written like its description`(_ number: Int64) {
    var bytes = Array("x".utf8)
    DecimalText.append(number, to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == "x\(number)")
  }

  @Test func `ten thousand random numbers of every length are written like their descriptions`() {
    for _ in 0..<10_000 {
      let number = Int64.random(in: .min ... .max) >> Int64.random(in: 0..<64)
      var bytes: [UInt8] = []
      DecimalText.append(number, to: &bytes)
      #expect(String(decoding: bytes, as: UTF8.self) == number.description)
    }
  }
}
