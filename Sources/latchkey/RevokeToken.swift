import ArgumentParser
import Tokens
import API

struct RevokeToken: ServiceCommand {
  enum Kind: String, CaseIterable, ExpressibleByArgument {
    case accessToken = "access-token"
    case refreshToken = "refresh-token"
    case authorizationCode = "authorization-code"

    var onTheWire: ProviderTokenKind {
      switch self {
      case .accessToken: .accessToken
      case .refreshToken: .refreshToken
      case .authorizationCode: .authorizationCode
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "revoke-token", abstract: "Have a provider revoke one of its tokens of your account.",
    discussion: """
      latchkey revoke-token apple.com --kind refresh-token --token-file token.txt

      The application then has no more access to your data at the provider. The provider must be linked to your \
      account. A token that is invalid already counts as revoked.
      """)

  @Argument(help: "Provider ID, as whoami shows it.")
  var provider: String

  @Option(
    name: .long, help: ArgumentHelp("File with the token, or - for standard input.", valueName: "file"))
  var tokenFile: String

  @Option(name: .long, help: "Kind of the token. Only apple.com revokes authorization codes.")
  var kind = Kind.accessToken

  @Option(name: .long, help: ArgumentHelp("apple.com: the client ID of the token.", valueName: "id"))
  var clientID = ""

  @Option(name: .long, help: ArgumentHelp("URI of the redirect that brought the authorization code.", valueName: "uri"))
  var redirectURI = ""

  @OptionGroup var common: CommonOptions

  func perform(_ context: CommandContext) throws -> Report {
    let token = TokenToRevoke(
      providerID: provider, token: try SecretSource(option: "--token-file", file: tokenFile).read(),
      kind: kind.onTheWire, clientID: clientID, redirectURI: redirectURI)
    _ = try context.call(
      ProviderFlowRPC.revokeToken, RevokeTokenRequest(idToken: try context.session().idToken, token: token))
    return Report(["Revoked: a token of \(printable(provider))."], [
      JSONMember("outcome", .string("revoked")), JSONMember("provider_id", .string(provider)),
    ])
  }
}
