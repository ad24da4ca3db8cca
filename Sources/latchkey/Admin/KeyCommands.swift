import ArgumentParser

struct Keys: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show and replace the keys of the service.",
    subcommands: [
      KeysStatus.self, KeysList.self, KeysRotate.self, KeysRevoke.self,
    ])
}
