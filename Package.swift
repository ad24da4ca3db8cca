// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target is compiled alike: language mode 6, strict memory safety (SE-0458), warnings as errors.
let swift: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .treatWarning("DeprecatedDeclaration", as: .warning),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let isFuzzed = Context.environment["LATCHKEY_FUZZ"] != nil

/// A module of the service; dependencies only point down.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: swift)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency] = [], without excluded: [String] = [],
  exporting symbol: String? = nil
) -> Target {
  .testTarget(
    name: name + "Tests", dependencies: [.byName(name: name)] + dependencies, path: "Tests/\(name)Tests",
    exclude: excluded, swiftSettings: swift,
    linkerSettings: symbol.map { [.unsafeFlags(["-Xlinker", "--export-dynamic-symbol=\($0)"])] })
}

func system(_ name: String, _ package: String) -> Target {
  .systemLibrary(name: "C" + name, path: "Sources/C/" + name, pkgConfig: package)
}

/// libFuzzer brings the `main` of this program, and is there only in builds that deploy/fuzz makes.
let fuzzer: [Target] =
  !isFuzzed
  ? []
  : [
    .executableTarget(
      name: "latchkey-fuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Driver",
      swiftSettings: swift + [.unsafeFlags(["-parse-as-library"])])
  ]

let package = Package(
  name: "latchkey",
  products: [
    .executable(name: "latchkeyd", targets: ["latchkeyd"]), .executable(name: "latchkey", targets: ["latchkey"]),
    .executable(name: "latchkey-load", targets: ["latchkey-load"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
  ],
  targets: [
    .executableTarget(
      name: "latchkeyd",
      dependencies: [
        "Server", "Configuration", "Observability", "Reactor",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
      ],
      swiftSettings: swift),
    .executableTarget(
      name: "latchkey",
      dependencies: [
        "HookServer", "Client", "API", "Protobuf", "TLS", "Reactor", "Tokens", "Import", "Encodings", "StoreMigration",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: swift),
    .executableTarget(
      name: "latchkey-load",
      dependencies: [
        "Client", "API", "Protobuf", "Reactor", "Crypto", "Encodings",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      swiftSettings: swift),
    module("Server", [
      "Configuration", "HTTP1", "Transport", "Observability", "Services", "API", "TLS", "Reactor", "Identity",
      "Providers", "HTTPClient", "Callers", "Tokens", "Delivery", "Crypto", "Encodings", "Text", "Store", "StoreSQLite",
      "StorePostgres", "Import", "Telemetry", "Hooks", "WebAuthn",
      .product(name: "Tracing", package: "swift-distributed-tracing"),
    ]),
    module("Configuration", [
      "Transport", "Observability", "Services", "API", "HTTP2", "TLS", "Reactor", "Identity", "Providers", "HTTPClient",
      "Callers", "Tokens", "Delivery", "Crypto", "Encodings", "Text", "Store", "StorePostgres",
      "WebAuthn",
      .product(name: "Logging", package: "swift-log"),
    ]),
    module("HTTP1", ["Observability", "TLS", "Reactor", "Tokens", "Crypto", "Encodings", "Text"]),
    module("Telemetry", [
      "Observability", "Client", "API", "Protobuf", "GRPC", "Reactor", "Messages",
      .product(name: "Tracing", package: "swift-distributed-tracing"),
    ]),
    module("Hooks", [
      "HookMessages", "Observability", "Client", "API", "Protobuf", "GRPC", "HTTPClient", "Identity", "Store",
      "Reactor",
      .product(name: "Tracing", package: "swift-distributed-tracing"),
    ]),
    module("Transport", [
      "Observability", "Services", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor", "Identity", "HTTPClient", "Callers",
      "Crypto", "Text", "Store", .product(name: "Tracing", package: "swift-distributed-tracing"),
    ]),
    module("Observability", [
      "Services", "API", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor", "Identity", "Providers", "HTTPClient",
      "Callers", "Tokens", "Encodings", "Store",
      .product(name: "Logging", package: "swift-log"), .product(name: "CoreMetrics", package: "swift-metrics"),
      .product(name: "Tracing", package: "swift-distributed-tracing"),
    ]),
    module(
      "HookServer", ["HookMessages", "API", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor", "Tokens", "Text"]),
    module("Client", ["API", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor"]),
    module("StoreMigration", ["Crypto", "Encodings", "Reactor", "Store", "StoreSQLite", "StorePostgres"]),
    module("Services", ["API", "Protobuf", "GRPC", "Identity", "Callers", "Text", "Encodings", "Store", "Import"]),
    module("Import", ["Tokens", "Crypto", "Encodings"]),
    module("API", ["Protobuf", "Messages"]),
    module("GRPC", ["Encodings"]),
    module("HTTP2", ["CNghttp2", "CSessionMemory"]),
    module("TLS", ["COpenSSL"]),
    module("Delivery", ["HTTPClient", "Reactor", "Crypto", "Encodings", "Store"]),
    module("StoreSQLite", ["Store", "Reactor", "CSQLite", "CLinux"]),
    module("StorePostgres", ["Store", "Reactor", "CPostgres"]),
    module("Reactor", ["CLinux"]),
    module("Identity", ["Sealed", "Protobuf", "Text", "Encodings", "Store"]),
    module("Providers", ["HTTPClient", "Tokens", "Crypto", "Text", "Encodings", "Store"]),
    module("HTTPClient", ["Reactor", "CCurl"]),
    module("WebAuthn", ["Tokens", "Crypto", "Encodings", "CFido2"]),
    module("Callers", ["Crypto", "Store"]),
    module("Tokens", ["Crypto", "Encodings"]),
    module("Crypto", ["COpenSSL", "CSodium", "CCrypt", "CP11Kit"]),
    module("Text", ["CIdn2", "CUtf8proc"]),
    module("HookMessages", ["API", "Protobuf", "Messages"]),
    module("Sealed", ["Protobuf", "Messages"]),
    module("Protobuf", ["Encodings", "CProtobufC", "Messages"]),
    module("Store"),
    module("Encodings", ["CSodium"]),

    system("OpenSSL", "openssl"),
    system("Nghttp2", "libnghttp2"),
    system("ProtobufC", "libprotobuf-c"),
    system("SQLite", "sqlite3"),
    system("Postgres", "libpq"),
    system("Curl", "libcurl"),
    system("Crypt", "libcrypt"), system("P11Kit", "p11-kit-1"), system("Fido2", "libfido2"),
    system("Sodium", "libsodium"),
    system("Idn2", "libidn2"),
    system("Utf8proc", "libutf8proc"),
    .target(name: "CLinux", path: "Sources/C/Linux"),
    .target(name: "CSessionMemory", dependencies: ["CNghttp2"], path: "Sources/C/SessionMemory"),
    .target(name: "Messages", dependencies: ["CProtobufC"], path: "Sources/C/Messages"),

    .target(name: "StoreConformance", dependencies: ["Store"], path: "Tests/StoreConformance", swiftSettings: swift),
    .target(name: "TestSupport", dependencies: ["Protobuf", "Store"], path: "Tests/TestSupport", swiftSettings: swift),
    .target(
      name: "LogSupport",
      dependencies: ["TestSupport", "Observability", "Reactor", .product(name: "Logging", package: "swift-log")],
      path: "Tests/LogSupport", swiftSettings: swift),
    .target(
      name: "Certificates", dependencies: ["TestSupport", "Reactor", "CLinux"], path: "Tests/Certificates",
      swiftSettings: swift),
    tests("Encodings"), tests("API", ["TestSupport", "Protobuf", "CProtobufC"]), tests("GRPC", ["Encodings"]),
    tests("HTTP2", ["CSessionMemory", "CNghttp2"]),
    tests("Reactor", ["TestSupport", "CLinux"]),
    tests("TLS", ["Certificates", "Reactor", "CLinux"]),
    tests("Client", [
      "Certificates", "API", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor", "CLinux",
    ]),
    tests("HookServer", ["HookMessages", "API"]),
    tests("Identity", ["TestSupport", "Sealed", "Encodings", "Store"]),
    tests("Providers", ["HTTPClient", "Tokens", "Crypto", "Encodings", "Store"], without: ["Fixtures"]),
    tests("Delivery", ["HTTPClient", "Reactor", "Crypto", "Encodings", "Store"]),
    tests("HTTPClient", ["TestSupport", "Reactor"]),
    tests("Callers", ["Crypto", "Store"]), tests("Tokens", ["Crypto", "Encodings"]), tests("Crypto"), tests("Text"),
    tests("Import", ["Crypto", "Encodings", "Tokens"]),
    tests("WebAuthn", ["Tokens", "Encodings"], without: ["Fixtures"]),
    tests("StoreSQLite", ["StoreConformance", "TestSupport", "Store", "Reactor"], exporting: "fdatasync"),
    tests("StorePostgres", [
      "StoreConformance", "TestSupport", "StoreMigration", "Store", "StoreSQLite", "Reactor", "CPostgres", "CLinux",
    ]),
    tests("Services", ["TestSupport", "API", "Protobuf", "GRPC", "Identity", "Callers", "Crypto", "Store"]),
    tests("Observability", [
      "LogSupport", "TestSupport", "Services", "API", "Protobuf", "GRPC", "HTTP2", "Reactor", "Identity", "Providers",
      "HTTPClient", "Callers", "Tokens", "Encodings", "Store",
      .product(name: "Logging", package: "swift-log"), .product(name: "CoreMetrics", package: "swift-metrics"),
      .product(name: "Tracing", package: "swift-distributed-tracing"),
    ]),
    tests("Transport", [
      "Observability", "Services", "API", "GRPC", "HTTP2", "Identity", "Callers", "Crypto", "Store",
    ]),
    tests("HTTP1", ["Reactor"]),
    tests("Configuration", [
      "TestSupport", "Transport", "Observability", "Services", "HTTP2", "TLS", "Reactor", "Identity", "Providers",
      "HTTPClient", "Callers", "Tokens", "Delivery", "Crypto", "Encodings", "Text", "Store", "WebAuthn",
      .product(name: "Logging", package: "swift-log"),
    ]),
    tests("Server", [
      "LogSupport", "TestSupport", "Configuration", "HTTP1", "Transport", "Observability", "Services", "API", "GRPC",
      "HTTP2", "TLS", "Reactor", "Identity", "Providers", "HTTPClient", "Callers", "Tokens", "Crypto", "Delivery",
      "Encodings", "Store", "Text",
      .product(name: "Logging", package: "swift-log"), .product(name: "CoreMetrics", package: "swift-metrics"),
    ]),
    .target(
      name: "FuzzTargets",
      dependencies: [
        "Server", "Configuration", "HTTP1", "Transport", "Observability", "Services", "API", "Protobuf", "GRPC",
        "HTTP2", "TLS", "Identity", "Providers", "HTTPClient", "Callers", "Tokens", "Crypto", "Text", "Encodings",
        "Store", "WebAuthn",
      ],
      path: "Tests/Fuzz/Targets", swiftSettings: swift),
    .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/Replay", swiftSettings: swift),
    .testTarget(
      name: "LoadTests",
      dependencies: [
        "latchkey-load", "API", "Protobuf", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tests/LoadTests", swiftSettings: swift),
    .testTarget(name: "TidyTests", path: "Tests/Tidy", swiftSettings: swift),
  ] + fuzzer,
  swiftLanguageModes: [.v6]
)
