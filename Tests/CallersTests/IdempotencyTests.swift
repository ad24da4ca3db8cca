import Callers
import Crypto
import Store
import Testing

private let secret = [UInt8](repeating: 7, count: 32)
private let keys = IdempotencyKeys(secret: secret)

private func key(_ caller: String = "web", _ method: String = "/a/B", _ key: String = "k") -> Digest {
  keys.key(caller: CallerName(caller), method: method, key: key)
}

@Test func `the same call has the same digests, on every replica with the secret`() {
  #expect(key() == IdempotencyKeys(secret: secret).key(caller: CallerName("web"), method: "/a/B", key: "k"))
  #expect(keys.request([1, 2]) == IdempotencyKeys(secret: secret).request([1, 2]))
}

@Test func `another caller, method or key is another record`() {
  let digests = [key(), key("mobile"), key("web", "/a/C"), key("web", "/a/B", "l"), key("Web"), key("web", "/a/B", "")]
  #expect(Set(digests).count == digests.count)
}

@Test func `a guest's browser and device are part of the key, each in its own place`() {
  func guest(_ names: [String]) -> Digest {
    keys.key(caller: CallerName("web"), method: "/a/B", key: "k", guest: names)
  }
  let digests = [key(), guest(["b", ""]), guest(["", "b"]), guest(["b", "d"]), guest(["bd", ""]), guest(["", ""])]
  #expect(Set(digests).count == digests.count)
  #expect(guest(["b", "d"]) == guest(["b", "d"]))
}

@Test func `no two lists of parts have the same digest, however their bytes are divided`() {
  let lists = [
    ["ab", "c", "d"], ["a", "bc", "d"], ["a", "b", "cd"], ["abcd", "", ""], ["", "abcd", ""], ["", "", "abcd"],
    ["ab", "cd", ""], ["", "ab", "cd"], ["\0\0\0\0\0\0\0\u{1}a", "b", ""], ["", "a\0", "b"], ["", "a", "\0b"],
  ]
  #expect(Set(lists.map { key($0[0], $0[1], $0[2]) }).count == lists.count)
}

@Test func `a request that differs in one byte has another digest, and no request has the digest of a key`() {
  let requests = [[], [0], [0, 0], [1], [1, 0]] as [[UInt8]]
  #expect(Set(requests.map(keys.request) + [key("", "", "")]).count == requests.count + 1)
}

@Test func `a digest cannot be made without the secret, nor from plain hashes of the parts`() {
  let other = IdempotencyKeys(secret: [UInt8](repeating: 8, count: 32))
  #expect(other.key(caller: CallerName("web"), method: "/a/B", key: "k") != key())
  #expect(other.request([1]) != keys.request([1]))
  #expect(keys.request([1]) != Digest(sha256([1])))
  #expect(keys.request([1]) != Digest(sha256([0, 0, 0, 0, 0, 0, 0, 1, 1])))
}

@Test func `a digest is HMAC over each part behind its length in eight bytes`() {
  let input: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1] + [0x77] + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 1, 0]
  let long = String(repeating: "k", count: 256)
  let expected = hmacSHA256(key: Secret(copying: secret), input + Array(long.utf8))
  #expect(key("w", "", long) == Digest(expected))
}

@Test func `other master keys have names of their own, in their order`() {
  let both = IdempotencyKeys(secret: secret, others: [[UInt8](repeating: 8, count: 32)])
  let alone = IdempotencyKeys(secret: [UInt8](repeating: 8, count: 32))
  #expect(both.others.map { $0.request([1]) } == [alone.request([1])] && both.request([1]) == keys.request([1]))
}
