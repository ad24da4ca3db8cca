/// The modules from top to bottom, with their allowed imports: a module is above all modules that it imports.
enum Layers {
  struct Layer {
    let module: String
    /// The file that states what the module owns.
    let firstFile: String
    /// Modules of this project.
    let ours: [String]
    /// C libraries and their shims, by the names of their module maps.
    var c: [String] = []
    /// Modules of the toolchain, or of packages.
    var others: [String] = []
    /// The module wraps C, so it may contain code that the compiler cannot prove safe.
    var wrapsC: Bool { !c.isEmpty }
  }

  static let all = [
    Layer(
      module: "latchkeyd", firstFile: "LatchkeyDaemon.swift",
      ours: ["Server", "Configuration", "Observability", "Reactor"],
      others: ["ArgumentParser", "CoreMetrics", "Synchronization"]),
    Layer(
      module: "latchkey", firstFile: "LatchkeyCommand.swift",
      ours: [
        "HookServer", "Client", "API", "Protobuf", "TLS", "Reactor", "Tokens", "Import", "Encodings", "StoreMigration",
      ],
      others: ["ArgumentParser"]),
    Layer(
      module: "latchkey-load", firstFile: "LatchkeyLoad.swift",
      ours: ["Client", "API", "Protobuf", "Reactor", "Crypto", "Encodings"],
      others: ["ArgumentParser", "Histogram", "Glibc", "Synchronization", "FoundationEssentials"]),
    Layer(
      module: "Server", firstFile: "Server.swift",
      ours: [
        "Configuration", "HTTP1", "Transport", "Observability", "Services", "API", "TLS", "Reactor", "Identity",
        "Providers", "HTTPClient", "Callers", "Tokens", "Delivery", "Crypto", "Encodings", "Text", "Store",
        "StoreSQLite", "StorePostgres", "Import", "Telemetry", "WebAuthn", "Hooks",
      ],
      others: ["Synchronization", "Tracing"]),
    Layer(
      module: "Configuration", firstFile: "Settings.swift",
      ours: [
        "Transport", "Observability", "Services", "API", "HTTP2", "TLS", "Reactor", "Identity", "Providers",
        "HTTPClient", "Callers", "Tokens", "Delivery", "Crypto", "Encodings", "Text", "Store", "StorePostgres",
        "WebAuthn",
      ],
      others: ["Logging", "FoundationEssentials"]),
    Layer(
      module: "HTTP1", firstFile: "Endpoint.swift",
      ours: ["Observability", "TLS", "Reactor", "Tokens", "Crypto", "Encodings", "Text"]),
    Layer(
      module: "Telemetry", firstFile: "TraceExporter.swift",
      ours: ["Observability", "Client", "API", "GRPC", "Reactor"],
      others: ["Synchronization", "Tracing"]),
    Layer(
      module: "Hooks", firstFile: "HookSet.swift",
      ours: [
        "HookMessages", "Observability", "Client", "API", "Protobuf", "GRPC", "HTTPClient", "Identity", "Store",
        "Reactor",
      ],
      others: ["Synchronization", "Tracing"]),
    Layer(
      module: "Transport", firstFile: "Limits.swift",
      ours: [
        "Observability", "Services", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor", "Identity", "HTTPClient", "Callers",
        "Crypto", "Text", "Store",
      ],
      others: ["Synchronization", "Tracing"]),
    Layer(
      module: "Observability", firstFile: "Log.swift",
      ours: [
        "Services", "API", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor", "Identity", "Providers", "HTTPClient",
        "Callers", "Tokens", "Encodings", "Store",
      ],
      others: ["CoreMetrics", "Logging", "Synchronization", "Tracing"]),
    Layer(
      module: "StoreMigration", firstFile: "StoreMigration.swift",
      ours: ["Crypto", "Encodings", "Reactor", "Store", "StoreSQLite", "StorePostgres"]),
    Layer(
      module: "Services", firstFile: "Method.swift",
      ours: ["API", "Protobuf", "GRPC", "Identity", "Callers", "Text", "Encodings", "Store", "Import"],
      others: ["Synchronization"]),
    Layer(
      module: "HookServer", firstFile: "HookServer.swift",
      ours: ["HookMessages", "API", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor", "Tokens", "Text"]),
    Layer(
      module: "Client", firstFile: "Client.swift", ours: ["API", "Protobuf", "GRPC", "HTTP2", "TLS", "Reactor"]),
    Layer(module: "HookMessages", firstFile: "HookMessages.swift", ours: []),
    Layer(module: "API", firstFile: "API.swift", ours: ["Protobuf"], c: ["Messages"]),
    Layer(module: "GRPC", firstFile: "Call.swift", ours: ["Encodings"]),
    Layer(module: "HTTP2", firstFile: "Session.swift", ours: [], c: ["CNghttp2", "CSessionMemory"]),
    Layer(module: "TLS", firstFile: "Context.swift", ours: [], c: ["COpenSSL"], others: ["Synchronization"]),
    Layer(
      module: "Delivery", firstFile: "Delivery.swift", ours: ["HTTPClient", "Reactor", "Crypto", "Encodings", "Store"],
      others: ["FoundationEssentials"]),
    Layer(
      module: "StoreSQLite", firstFile: "StoreSQLite.swift", ours: ["Store", "Reactor"], c: ["CSQLite", "CLinux"],
      others: ["Glibc", "Synchronization"]),
    Layer(
      module: "StorePostgres", firstFile: "StorePostgres.swift", ours: ["Store", "Reactor"],
      c: ["CPostgres"], others: ["Glibc", "Synchronization"]),
    Layer(
      module: "Identity", firstFile: "Identity.swift", ours: ["Sealed", "Protobuf", "Text", "Encodings", "Store"],
      others: ["Synchronization"]),
    Layer(
      module: "Providers", firstFile: "Providers.swift",
      ours: ["HTTPClient", "Tokens", "Crypto", "Text", "Encodings", "Store"],
      others: ["Synchronization"]),
    Layer(
      module: "HTTPClient", firstFile: "HTTPClient.swift", ours: ["Reactor"], c: ["CCurl"],
      others: ["Glibc", "Synchronization"]),
    Layer(module: "Reactor", firstFile: "Reactor.swift", ours: [], c: ["CLinux"], others: ["Synchronization"]),
    Layer(module: "Import", firstFile: "ForeignHash.swift", ours: ["Tokens", "Crypto", "Encodings"]),
    Layer(module: "WebAuthn", firstFile: "WebAuthn.swift", ours: ["Tokens", "Crypto", "Encodings"], c: ["CFido2"]),
    Layer(
      module: "Callers", firstFile: "Callers.swift", ours: ["Crypto", "Store"], others: ["Synchronization"]),
    Layer(module: "Tokens", firstFile: "Tokens.swift", ours: ["Crypto", "Encodings"]),
    Layer(module: "Crypto", firstFile: "Crypto.swift", ours: [], c: ["COpenSSL", "CSodium", "CCrypt", "CP11Kit"]),
    Layer(module: "Text", firstFile: "Text.swift", ours: [], c: ["CIdn2", "CUtf8proc"]),
    Layer(module: "Sealed", firstFile: "SealedMessages.swift", ours: []),
    Layer(
      module: "Protobuf", firstFile: "Protobuf.swift", ours: ["Encodings"], c: ["CProtobufC", "Messages"],
      others: ["Glibc"]),
    Layer(module: "Store", firstFile: "Store.swift", ours: [], others: ["Synchronization"]),
    Layer(module: "Encodings", firstFile: "Base64URL.swift", ours: [], c: ["CSodium"]),
  ]

  static func layer(_ module: String?) -> Layer? { all.first { $0.module == module } }
}
