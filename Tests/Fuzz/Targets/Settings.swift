import Configuration
import HTTP2
import Identity
import Server
import TLS
import Transport

extension FuzzTarget {
  /// Environment variables, one in each line, then a NUL, then the file. The result is settings within their limits, or
  /// one line that names the setting.
  static let settings = FuzzTarget("settings", seeds: settingSeeds) { input in
    var reader = InputReader(input)
    var environment: [String: String] = [:]
    for line in reader.bytes(until: 0).split(separator: UInt8(ascii: "\n")) {
      let parts = line.split(separator: UInt8(ascii: "="), maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
      if parts.count == 2 { environment["LATCHKEY_" + parts[0]] = parts[1] }
    }
    do throws(ConfigurationError) {
      check(try Settings.parse(reader.rest(), folder: "/etc/latchkey", environment: environment))
    } catch {
      law(!error.setting.isEmpty && !error.why.isEmpty, "a refusal without words")
      let line = error.description.unicodeScalars
      law(!line.contains { $0.properties.generalCategory == .control }, "an error of several lines: \(error)")
    }
  }

  private static func check(_ settings: Settings) {
    let limits = settings.limits
    law(!settings.tls.certificateFile.isEmpty && !settings.tls.keyFile.isEmpty, "no certificate")
    law((1_024...4_194_304).contains(limits.messageBytesMax), "messages of \(limits.messageBytesMax) bytes")
    law((1...10_000).contains(limits.session.streamsMax), "\(limits.session.streamsMax) streams")
    law((4_096...65_536).contains(limits.session.headerListBytesMax), "header lists")
    law((1...1_000_000).contains(limits.connectionsMax), "\(limits.connectionsMax) connections")
    law((1_000...3_600_000).contains(limits.drainMillis), "a drain of \(limits.drainMillis) ms")
    law((60_000...86_400_000).contains(settings.policy.idTokenLifetimeMillis), "ID tokens")
    law((8...64).contains(settings.policy.passwordBytesMin), "passwords of \(settings.policy.passwordBytesMin) bytes")
    law((0...256).contains(settings.reactors), "\(settings.reactors) reactors")
    let isLoopback = settings.listen.addresses.allSatisfy { $0.address.hasPrefix("127.") || $0.address == "::1" }
    law(
      !settings.allowUnidentified || (isLoopback && !settings.listen.takesPassedSockets),
      "unidentified callers on \(settings.listen)")
  }
}
