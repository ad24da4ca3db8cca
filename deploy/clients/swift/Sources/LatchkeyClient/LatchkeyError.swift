public import GRPCCore
private import GRPCProtobuf

/// A failed call.
///
/// ```swift
/// do {
///   session = try await client.auth.signIn(request).session
/// } catch let error as LatchkeyError where error.reason == .invalidLoginCredentials {
///   // Ask the user again.
/// }
/// ```
///
/// `proto/ERRORS.md` lists the status, the metadata and the meaning of each reason.
public struct LatchkeyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The gRPC status code. Decide by it if ``reason`` is nil.
  public let code: RPCError.Code
  /// A sentence for developers. Its text can change; never compare it.
  public let message: String
  /// Why the call failed. Nil if the failure has no reason, such as a lost connection, or one that this version of the
  /// package does not know; ``reasonName`` then contains its name.
  public let reason: Latchkey_V1_ErrorReason?
  /// The name of the reason, such as `INVALID_EMAIL`. Empty if the failure has none.
  public let reasonName: String
  /// Facts about the failure, by the names in `proto/ERRORS.md`.
  public let metadata: [String: String]
  /// Path of the request's field that is wrong, such as `credential.password.email`. Empty if the server names none.
  public let field: String
  /// Minimum time to wait before a repeat. Nil if the server does not know, or if waiting does not help.
  public let retryDelay: Duration?
  /// The error of grpc-swift-2, with the metadata of the trailer.
  public let rpcError: RPCError

  /// Reads the details of an error. The calls of ``LatchkeyClient`` have done it, except for the messages of a stream
  /// inside of its result handler.
  public init(_ error: RPCError) {
    // A proxy can write a status that is not of this server.
    let details = (try? error.unpackGoogleRPCStatus())?.details ?? []
    let info = details.lazy.compactMap(\.errorInfo).first { $0.domain == "latchkey" }
    code = error.code
    message = error.message
    reasonName = info?.reason ?? ""
    reason = errorReasonNumbers[reasonName].flatMap(Latchkey_V1_ErrorReason.init)
    metadata = info?.metadata ?? [:]
    field = details.lazy.compactMap(\.badRequest?.violations.first?.field).first ?? metadata["field"] ?? ""
    retryDelay = details.lazy.compactMap(\.retryInfo?.delay).first
    rpcError = error
  }

  /// Reason and message.
  public var description: String { "\(reasonName.isEmpty ? "\(code)" : reasonName): \(message)" }
}
