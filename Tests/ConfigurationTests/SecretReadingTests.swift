import Crypto
import Providers
import TestSupport
import Testing

@testable import Configuration

private func why(_ source: SecretSource, _ environment: [String: String] = [:], bytesMin: Int = 1) -> String? {
  do throws(SecretFault) {
    _ = try source.line(environment, bytesMin: bytesMin)
    return nil
  } catch { return error.why }
}

@Test func `a secret is the same in a file and in a variable, without line breaks at its end`() async throws {
  try await withFolder { folder in
    let (file, variable) = (SecretSource.file(folder + "/secret"), SecretSource.environment("SECRET"))
    for end in ["", "\n", "\r\n", "\n\n"] {
      let text = "my s3cret" + end
      try write(text, to: folder + "/secret")
      #expect(try file.line([:]).revealed == "my s3cret")
      #expect(try variable.line(["SECRET": text]).revealed == "my s3cret")
    }
    for text in ["", "\n", "é", "two\nlines", "tab\t", "short"] {
      try write(text, to: folder + "/secret")
      let told = "must contain one line of ASCII of 6 to 4096 characters"
      #expect(why(file, bytesMin: 6) == told && why(variable, ["SECRET": text], bytesMin: 6) == told)
    }
  }
}

@Test func `a missing or too large secret is reported with its place`() {
  #expect(why(.file("/nowhere/secret")) == "names /nowhere/secret, which cannot be read: No such file or directory")
  #expect(why(.environment("SECRET")) == "names SECRET, which is not in the environment")
  let large = String(repeating: "x", count: 4_097)
  #expect(why(.environment("SECRET"), ["SECRET": large]) == "is larger than 4096 bytes")
  #expect(SecretSource.file("a").setting("tls.key") == "tls.key_file")
  #expect(SecretSource.environment("A").setting("tls.key") == "tls.key_env")
}
