import Testing

@testable import GRPC

@Test func `R18: a message is complete wherever its bytes were split`() {
  let message = bytes("one message")
  let request = framed(message)
  for cut in 0...request.count {
    var call = call()
    let first = call.take(Array(request[..<cut]))
    #expect(first == .wait, "cut at \(cut)")
    #expect(call.bufferedBytes == cut, "also where the message is whole and the request has not ended")
    #expect(call.take(Array(request[cut...]), ended: true) == .ready(message), "cut at \(cut)")
  }
}

@Test func `R18: a message may arrive byte by byte`() {
  var call = call()
  for byte in framed(bytes("slow")) { #expect(call.take([byte]) == .wait) }
  #expect(call.take([], ended: true) == .ready(bytes("slow")))
}

@Test func `R13: an empty message is a message`() {
  var call = call()
  #expect(call.take(framed([]), ended: true) == .ready([]))
}

@Test func `R13: several messages in one piece are separated in their order`() {
  var call = call(streams: true)
  let rest = framed(bytes("four"))
  let piece = framed(bytes("one")) + framed([]) + framed(bytes("three")) + rest[..<7]
  #expect(call.take(piece) == .messages([bytes("one"), [], bytes("three")], last: false))
  #expect(call.bufferedBytes == 7)
  #expect(call.take(Array(rest[7...]), ended: true) == .messages([bytes("four")], last: true))
}

@Test func `R17: a message of the limit is accepted, one byte more gets RESOURCE_EXHAUSTED`() {
  let message = [UInt8](repeating: 7, count: 64)
  var edge = call(limit: 64)
  #expect(edge.take(framed(message), ended: true) == .ready(message))
  var past = call(limit: 64)
  #expect(past.take(framed(message + [7]), ended: true) == .refused(.resourceExhausted))
}

@Test func `R17: a message that is too large is rejected by its head, before any of it is stored`() {
  var call = call(limit: 64)
  let head = frameHead(0, 1 << 32 - 1)
  #expect(call.take(Array(head[..<4])) == .wait)
  #expect(call.take([head[4]]) == .refused(.resourceExhausted))
  #expect(call.bufferedBytes == 0)
}

@Test func `R17: the head of a second message is checked together with a complete first message`() {
  var call = call(limit: 64, streams: true)
  #expect(call.take(framed(bytes("fine")) + frameHead(0, 65)) == .refused(.resourceExhausted))
}

@Test func `R14: a flag byte other than 0 or 1 gets INTERNAL`() {
  for flag in UInt8(2)...255 {
    var call = call()
    #expect(call.take(framed([], flag: flag), ended: true) == .refused(.internal), "flag \(flag)")
  }
}

@Test func `R15: the compressed flag gets INTERNAL, since no encoding is agreed`() {
  var call = call()
  #expect(call.take(framed(bytes("x"), flag: 1), ended: true) == .refused(.internal))
}

@Test func `R19: a unary call without a message gets UNIMPLEMENTED, as the status document says`() {
  var call = call()
  #expect(call.take([], ended: true) == .refused(.unimplemented))
}

@Test func `R19: a unary call with two messages gets UNIMPLEMENTED, as the status document says`() {
  var inOnePiece = call()
  #expect(inOnePiece.take(framed([1]) + framed([2]), ended: true) == .refused(.unimplemented))
  var oneByOne = call()
  #expect(oneByOne.take(framed([1])) == .wait)
  #expect(oneByOne.take(framed([2])) == .refused(.unimplemented))
}

@Test func `R19: a streaming call that takes one message gets UNIMPLEMENTED without it, and with a second`() {
  var none = call(streams: true, takesOne: true)
  #expect(none.take([], ended: true) == .refused(.unimplemented))
  var inOnePiece = call(streams: true, takesOne: true)
  #expect(inOnePiece.take(framed([1]) + framed([2])) == .refused(.unimplemented))
  var oneByOne = call(streams: true, takesOne: true)
  #expect(oneByOne.take(framed([1])) == .messages([[1]], last: false))
  #expect(oneByOne.take(framed([2])) == .refused(.unimplemented))
  var one = call(streams: true, takesOne: true)
  #expect(one.take(framed([1])) == .messages([[1]], last: false))
  #expect(one.take([], ended: true) == .messages([], last: true))
}

@Test func `R20: an end inside a head or a message gets INTERNAL, in unary and streaming calls`() {
  let request = framed(bytes("cut"))
  for cut in 1..<request.count {
    for streams in [false, true] {
      var call = call(streams: streams)
      #expect(call.take(Array(request[..<cut]), ended: true) == .refused(.internal), "cut at \(cut)")
    }
  }
  var after = call()
  #expect(after.take(request + [0], ended: true) == .refused(.internal))
}

@Test func `R21: the end may arrive with the last bytes or alone`() {
  var together = call()
  #expect(together.take(framed([1]), ended: true) == .ready([1]))
  var apart = call()
  #expect(apart.take(framed([1])) == .wait)
  #expect(apart.take([], ended: true) == .ready([1]))
}

@Test func `a streaming call returns each complete message once, and reports the last ones`() {
  var call = call(streams: true)
  #expect(call.take([]) == .wait)
  #expect(call.take(framed([1])) == .messages([[1]], last: false))
  #expect(call.take(framed([2]) + framed([3])) == .messages([[2], [3]], last: false))
  #expect(call.take([], ended: true) == .messages([], last: true))
}

@Test func `a streaming call may end without a message`() {
  var call = call(streams: true)
  #expect(call.take([], ended: true) == .messages([], last: true))
}

@Test func `a call that was answered or rejected stores nothing`() {
  let request = framed(bytes("whole"))
  var answered = call()
  #expect(answered.take(request) == .wait)
  #expect(answered.take([], ended: true) == .ready(bytes("whole")))
  #expect(answered.bufferedBytes == 0)
  var refused = call()
  #expect(refused.take(request) == .wait)
  #expect(refused.take(request) == .refused(.unimplemented))
  #expect(refused.bufferedBytes == 0)
  var cut = call()
  #expect(cut.take(Array(request.dropLast()), ended: true) == .refused(.internal))
  #expect(cut.bufferedBytes == 0)
}

@Test func `a call that has ended ignores further bytes`() {
  var refused = call()
  #expect(refused.take(framed([], flag: 9)) == .refused(.internal))
  #expect(refused.take(framed([1]), ended: true) == .wait)
  var answered = call()
  #expect(answered.take(framed([1]), ended: true) == .ready([1]))
  #expect(answered.take(framed([2]), ended: true) == .wait)
  var streamed = call(streams: true)
  #expect(streamed.take([], ended: true) == .messages([], last: true))
  #expect(streamed.take(framed([1]), ended: true) == .wait)
}
