// LogSupport: what the tests of a module that logs need.

import FoundationEssentials
import Glibc
package import Logging
package import Observability
import Reactor
import TestSupport

/// What a log wrote, line by line.
package func lines(
  level: Logger.Level = .info, waitingBytesMax: Int = 4 << 20, _ write: (Log) async throws -> Void
) async throws -> [[String: String]] {
  try await withFolder { folder in
    let path = folder + "/log"
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    guard descriptor >= 0 else { return [] }
    let handler = JSONLines(level: level, descriptor: descriptor, waitingBytesMax: waitingBytesMax)
    try await write(Log(handler))
    handler.flush()
    guard let bytes = readFile(path, bytesMax: 8 << 20) else { return [] }
    return try bytes.split(separator: UInt8(ascii: "\n")).map { line in
      try JSONDecoder().decode([String: String].self, from: Data(line))
    }
  }
}
