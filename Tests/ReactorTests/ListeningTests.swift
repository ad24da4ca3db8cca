import CLinux
import Testing

@testable import Reactor

/// A client that has connected to a loopback port.
private func client(of port: UInt16) throws -> Int32 {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  try #require(descriptor >= 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  let result = unsafe withUnsafePointer(to: &address) {
    unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  try #require(result == 0)
  return descriptor
}

private enum Accepted: Equatable {
  case connection(String)
  case turnedAway(String)
  case gone
  case exhausted
  case none
}

/// Accepts a connection and closes it.
private func accept(_ listening: Listening) -> Accepted {
  switch listening.accept() {
  case .connection(let descriptor, let address):
    lk_close(descriptor)
    return .connection(address)
  case .turnedAway(let address): return .turnedAway(address)
  case .gone: return .gone
  case .exhausted: return .exhausted
  case .none: return .none
  }
}

@Test func `connections are accepted with their address until none waits`() throws {
  let socket = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 8)
  let listening = Listening(socket)
  #expect(accept(listening) == .none)
  let clients = try (0..<3).map { _ in try client(of: socket.port) }
  for _ in clients { #expect(accept(listening) == .connection("127.0.0.1")) }
  #expect(accept(listening) == .none)
  for client in clients { lk_close(client) }
}

@Test func `the error for an invalid address or a port in use contains the errno`() throws {
  #expect(throws: SystemError(code: EINVAL, call: "listen on localhost port 0")) {
    try BoundSocket(address: "localhost", port: 0, backlog: 8)
  }
  let socket = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 8)
  let listening = Listening(socket)
  #expect(throws: SystemError(code: EADDRINUSE, call: "listen on 127.0.0.1 port \(socket.port)")) {
    try BoundSocket(address: "127.0.0.1", port: socket.port, backlog: 8)
  }
  #expect(accept(listening) == .none)
}

@Test func `all IPv6 and all IPv4 addresses share a port if the IPv6 socket leaves IPv4 to the other`() throws {
  let ipv4 = try BoundSocket(address: "0.0.0.0", port: 0, backlog: 8)
  let all = Listening(ipv4)
  #expect(throws: SystemError(code: EADDRINUSE, call: "listen on :: port \(ipv4.port)")) {
    try BoundSocket(address: "::", port: ipv4.port, backlog: 8)
  }
  let ipv6 = Listening(try BoundSocket(address: "::", port: ipv4.port, backlog: 8, leavesIPv4: true))
  let one = try client(of: ipv4.port)
  #expect(accept(ipv6) == .none)
  #expect(accept(all) == .connection("127.0.0.1"))
  lk_close(one)
}

@Test func `a socket on all IPv6 addresses takes IPv4 connections too if it is alone`() throws {
  let socket = try BoundSocket(address: "::", port: 0, backlog: 8)
  let listening = Listening(socket)
  let one = try client(of: socket.port)
  #expect(accept(listening) != .none)
  lk_close(one)
}

@Test func `without a free descriptor connections are closed one by one until the queue is empty`() async {
  // In a separate process, because the limit is for the whole process.
  await #expect(processExitsWith: .success) {
    let socket = try BoundSocket(address: "127.0.0.1", port: 0, backlog: 8)
    let listening = Listening(socket)
    for _ in 0..<3 { _ = try client(of: socket.port) }
    var limit = rlimit(rlim_cur: 256, rlim_max: 256)
    let result = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    try #require(result == 0)
    var held: [Int32] = []
    while case let copy = dup(0), copy >= 0 { held.append(copy) }
    #expect(accept(listening) == .turnedAway("127.0.0.1"))
    #expect(accept(listening) == .turnedAway("127.0.0.1"))
    lk_close(try #require(held.last))
    #expect(accept(listening) == .connection("127.0.0.1"))
    #expect(accept(listening) == .none)
  }
}
