import ArgumentParser

struct Keys: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show and replace the keys of the service.",
    discussion: """
      The master keys seal secrets in the store, and the signing keys sign tokens:
        latchkey keys status
        latchkey keys list
      """,
    subcommands: [
      KeysStatus.self, KeysList.self, KeysRotate.self, KeysRevoke.self,
    ])
}
