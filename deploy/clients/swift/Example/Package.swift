// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "latchkey-example",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "latchkey-client", path: "..")],
  targets: [
    .executableTarget(name: "Example", dependencies: [.product(name: "LatchkeyClient", package: "latchkey-client")])
  ],
  swiftLanguageModes: [.v6])
