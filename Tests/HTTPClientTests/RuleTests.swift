import Testing

@testable import HTTPClient

struct AddressRuleTests {
  @Test(arguments: [
    [8, 8, 8, 8], [1, 1, 1, 1], [9, 255, 255, 255], [11, 0, 0, 0], [100, 63, 255, 255], [100, 128, 0, 0],
    [126, 0, 0, 1], [172, 15, 255, 255], [172, 32, 0, 0], [192, 167, 0, 1], [198, 17, 0, 1], [198, 20, 0, 0],
    [223, 255, 255, 255],
  ] as [[UInt8]])
  func `an IPv4 address next to a reserved block is public`(address: [UInt8]) {
    #expect(AddressRule.isPublic(address))
  }

  @Test(arguments: [
    [0, 0, 0, 0], [10, 0, 0, 1], [10, 255, 255, 255], [100, 64, 0, 1], [100, 127, 255, 255], [127, 0, 0, 1],
    [127, 255, 255, 254], [169, 254, 169, 254], [172, 16, 0, 1], [172, 31, 255, 255], [192, 0, 0, 8], [192, 0, 2, 1],
    [192, 88, 99, 1], [192, 168, 0, 1], [198, 18, 0, 1], [198, 19, 255, 255], [198, 51, 100, 1], [203, 0, 113, 1],
    [224, 0, 0, 1], [239, 255, 255, 255], [240, 0, 0, 1], [255, 255, 255, 255],
  ] as [[UInt8]])
  func `an IPv4 address for a special purpose is not public`(address: [UInt8]) {
    #expect(!AddressRule.isPublic(address))
  }

  private static func six(_ words: UInt16...) -> [UInt8] {
    words.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
  }

  @Test(arguments: [
    six(0x2606, 0x4700, 0, 0, 0, 0, 0, 0x1111), six(0x2001, 0x4860, 0x4860, 0, 0, 0, 0, 0x8888),
    six(0x2001, 0x0200, 0, 0, 0, 0, 0, 1), six(0x3FFE, 0, 0, 0, 0, 0, 0, 1),
    six(0, 0, 0, 0, 0, 0xFFFF, 0x0808, 0x0808), six(0x64, 0xFF9B, 0, 0, 0, 0, 0x0808, 0x0808),
  ])
  func `a global unicast address, or one that contains a public IPv4 address, is public`(address: [UInt8]) {
    #expect(AddressRule.isPublic(address))
  }

  @Test(arguments: [
    six(0, 0, 0, 0, 0, 0, 0, 0), six(0, 0, 0, 0, 0, 0, 0, 1), six(0xFE80, 0, 0, 0, 0, 0, 0, 1),
    six(0xFC00, 0, 0, 0, 0, 0, 0, 1), six(0xFD12, 0, 0, 0, 0, 0, 0, 1), six(0xFF02, 0, 0, 0, 0, 0, 0, 1),
    six(0x2001, 0, 0, 0, 0, 0, 0, 1), six(0x2001, 0x0DB8, 0, 0, 0, 0, 0, 1), six(0x2002, 0x7F00, 1, 0, 0, 0, 0, 1),
    six(0x3FFF, 0, 0, 0, 0, 0, 0, 1), six(0x0100, 0, 0, 0, 0, 0, 0, 1), six(0, 0, 0, 0, 0, 0xFFFF, 0x7F00, 1),
    six(0, 0, 0, 0, 0, 0xFFFF, 0xA9FE, 0xA9FE), six(0x64, 0xFF9B, 0, 0, 0, 0, 0x0A00, 1),
    six(0x64, 0xFF9B, 1, 0, 0, 0, 0x0808, 0x0808), six(0, 0, 0, 0, 0, 0, 0x7F00, 1),
    six(0xFEC0, 0, 0, 0, 0, 0, 0, 1), six(0x5F00, 0, 0, 0, 0, 0, 0, 1), six(0x2001, 2, 0, 0, 0, 0, 0, 1),
    six(0x2001, 0x20, 0, 0, 0, 0, 0, 1), six(0x2002, 0x0808, 0x0808, 0, 0, 0, 0, 1),
    six(0, 0, 0, 0, 0, 0xFFFF, 0, 0), six(0, 0, 0, 0, 0, 0xFFFF, 0x6440, 1), six(0x64, 0xFF9B, 0, 0, 0, 0, 0x7F00, 1),
    six(0, 0, 0, 0, 0xFFFF, 0, 0x0808, 0x0808),
  ])
  func `an IPv6 address for a special purpose, or one that contains a private IPv4 address, is not public`(
    address: [UInt8]
  ) {
    #expect(!AddressRule.isPublic(address))
  }

  @Test func `bytes that are not an Internet address are not public`() {
    #expect(!AddressRule.isPublic([]))
    #expect(!AddressRule.isPublic([8, 8, 8]))
  }
}

struct CacheControlTests {
  @Test(arguments: [
    ("max-age=300", 300), ("public, max-age=21600, must-revalidate", 21600), ("MAX-AGE=5", 5), ("max-age=\"60\"", 60),
    ("max-age=0", 0), ("max-age=100, max-age=50", 50), ("no-store, max-age=300", 0), ("max-age=300,no-cache", 0),
    ("max-age=99999999999999999999", Int.max), (" max-age = 7 ", 7),
  ])
  func `the lifetime of an answer is read from its cache control`(field: String, seconds: Int) {
    #expect(CacheControl.maxAgeSeconds(field) == seconds)
  }

  @Test(arguments: ["", "public", "s-maxage=300", "max-age=", "max-age=-1", "max-age=1h", "x-max-age=3", "max-age=٣"])
  func `a field without a lifetime gives none`(field: String) {
    #expect(CacheControl.maxAgeSeconds(field) == nil)
  }
}
