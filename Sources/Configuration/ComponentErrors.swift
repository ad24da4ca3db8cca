internal import HTTPClient
internal import Reactor
internal import Store
internal import TLS

extension ConfigurationError {
  /// Runs `make` and adds the name of the setting to its error.
  package static func naming<Component: ~Copyable>(
    _ setting: String, _ make: () throws -> Component
  ) throws -> Component {
    do {
      return try make()
    } catch let error as TLSError {
      throw ConfigurationError(setting: error.setting, why: error.why, isPassing: error.isPassing)
    } catch {
      throw ConfigurationError(setting: setting, why: "\(error)", isPassing: isPassing(error))
    }
  }

  /// Whether the same configuration may work later although a component cannot be created now.
  package static func isPassing(_ error: any Error) -> Bool {
    switch error {
    case let error as SystemError: error.isPassing
    case let error as StoreError: if case .unavailable = error { true } else { false }
    // No request was sent yet: libcurl lacks a system resource.
    case is FetchError, is PrivateFolder.Held: true
    default: false
    }
  }
}
