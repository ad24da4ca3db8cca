import TestSupport
import Testing

@testable import API
@testable import Protobuf

@Test func `the scan requires the budget that unpacking uses`() throws {
  func check<M: Mapped & Message>(_ message: M) throws {
    let bytes = message.encodeBare(arena: roomyArena())
    // The smallest budget that the scan accepts.
    var (refused, accepted) = (0, 65536)
    while accepted - refused > 1 {
      let middle = (accepted + refused) / 2
      if M.refusal(of: bytes, arena: Arena(budgetBytes: middle)) == nil { accepted = middle } else { refused = middle }
    }
    #expect(M.refusal(of: bytes, arena: Arena(budgetBytes: refused)) == .tooLarge)
    let arena = Arena(budgetBytes: accepted)
    let isUnpacked = unsafe arena.unpack(bytes.span, M.schema) != nil
    #expect(isUnpacked)
    // The budget is exact to the byte, except for the rounding of lists.
    #expect(arena.usedBytes <= accepted && arena.usedBytes >= accepted * 3 / 4, "\(M.messageName)")
  }
  for sample in Samples.all {
    let mirror = try #require(sample as? any Mapped & Message)
    try check(mirror)
  }
}

@Test func `64 KiB of empty list elements are refused before anything is unpacked`() {
  let elements = [[UInt8]](repeating: field(2, []), count: 32768).flatMap { $0 }
  #expect(elements.count == 65536)
  #expect(FetchProvidersResponse.refusal(of: elements) == .tooLarge)
  let messages = [[UInt8]](repeating: field(1, []), count: 32768).flatMap { $0 }
  #expect(ListServiceResponse.refusal(of: messages) == .tooLarge)
}

@Test func `64 KiB of one-byte numbers in a list are within the budget when packed`() throws {
  let packed = field(2, [UInt8](repeating: 1, count: 65536 - 4))
  let arena = roomyArena()
  #expect(try ExtensionNumberResponse.decode(packed, arena: arena).extensionNumber.count == 65532)
  let single = [[UInt8]](repeating: field(2, value: 1), count: 32768).flatMap { $0 }
  #expect(ExtensionNumberResponse.refusal(of: single, arena: arena) == .tooLarge)
}

@Test func `lists grow up to the budget and are refused past it`() {
  let arena = Arena(budgetBytes: 8 * 1024)
  var isRefused = false
  for count in 1...400 {
    let refusal = FetchProvidersResponse.refusal(of: (0..<count).flatMap { _ in field(2, "p") }, arena: arena)
    #expect(refusal == nil || refusal == .tooLarge)
    #expect(!isRefused || refusal == .tooLarge, "\(count) elements are accepted although fewer were rejected")
    isRefused = refusal != nil
  }
  #expect(isRefused)
}

@Test func `a text of 64 KiB is within the budget`() throws {
  let text = String(repeating: "x", count: 65536 - 4)
  #expect(try HealthCheckRequest.decode(field(1, text)).service == text)
}

@Test func `an arena serves message after message, also after a refused one`() throws {
  let arena = Arena(budgetBytes: 2048)
  let request = Samples.first(SignInRequest.self)
  let bytes = request.bare
  let tooLong = field(2, [UInt8](repeating: 0x61, count: 4000))
  for _ in 0..<1000 {
    #expect(try SignInRequest.decode(bytes, arena: arena) == request)
    #expect(FetchProvidersResponse.refusal(of: tooLong, arena: arena) == .tooLarge)
    #expect(SignInRequest.refusal(of: [0x0b], arena: arena) == .malformed(.wireType))
    #expect(arena.usedBytes == 0)
  }
}

@Test func `protobuf-c rejects the whole message if any of its allocations fails, and the arena serves the next`()
  throws
{
  func check<M: Mapped & Message>(_ message: M) throws {
    let bytes = message.bare
    let whole = roomyArena()
    let isUnpacked = unsafe whole.unpack(bytes.span, M.schema) != nil
    try #require(isUnpacked)
    // Every allocation is a multiple of the alignment, so each one is the first to fail at one of these budgets.
    for budgetBytes in stride(from: 0, to: whole.usedBytes, by: Arena.alignment) {
      let arena = Arena(budgetBytes: budgetBytes)
      for _ in 0..<2 {
        let isRefused = unsafe arena.unpack(bytes.span, M.schema) == nil
        #expect(isRefused, "\(M.messageName) within \(budgetBytes) bytes")
        #expect(arena.usedBytes <= budgetBytes)
        arena.reset()
      }
    }
  }
  for sample in Samples.all {
    let mirror = try #require(sample as? any Mapped & Message)
    try check(mirror)
  }
}
