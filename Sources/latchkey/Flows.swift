import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

struct Start: ServiceCommand {
  static let configuration = CommandConfiguration(
    abstract: "Start a sign-in flow on a provider's pages.",
    discussion: """
      latchkey start twitter.com --parameter lang=de \\
        --redirect-uri http://localhost:3000/callback
      latchkey sign-in --flow

      Open the printed URL and grant access. The provider redirects the browser to the redirect URI, where no server \
      needs to listen. Give the URL in the browser's address bar to sign-in --flow. If the provider posts its response \
      (response mode form_post), append the posted form to the redirect URI after a question mark.
      """)

  @Argument(help: "Provider, such as twitter.com or oidc.corp.")
  var provider: String

  @Option(name: .long, help: "URI that the provider redirects to; one of the caller's redirect_uris.")
  var redirectURI: String

  @Option(name: .long, help: "Additional scope. Repeatable.")
  var scope: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp("Provider-specific parameter. Repeatable.", valueName: "name=value"))
  var parameter: [String] = []

  @Option(name: .long, help: ArgumentHelp("Email address that the provider should suggest.", valueName: "address"))
  var loginHint = ""

  @Option(name: .customLong("for"), help: "Purpose of the flow.")
  var purpose = Purpose.signIn

  @OptionGroup var common: CommonOptions

  func validate() throws {
    for each in parameter where !each.contains("=") {
      throw ValidationError("Give --parameter as NAME=VALUE, not as \(each).")
    }
  }

  func perform(_ context: CommandContext) throws -> Report {
    let parameters = parameter.map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
    let answer = try context.call(
      ProviderFlowRPC.startFlow,
      StartFlowRequest(
        providerID: provider, redirectURI: redirectURI, scopes: scope,
        customParameters: Dictionary(
          parameters.map { (String($0[0]), String($0[1])) }, uniquingKeysWith: { $1 }),
        loginHint: loginHint, purpose: purpose.onTheWire,
        idToken: purpose == .signIn ? "" : try context.session().idToken, binding: try context.binding()))
    try context.remember(\.flow, Profile.Pending(token: answer.flowID, expiresAtMillis: answer.expiresAtMillis))
    let until = answer.expiresAtMillis.map(rfc3339) ?? "it expires"
    return Report(
      [
        "Open this URL before \(until):", "", "  " + printable(answer.authorizationURL), "",
        "Then: " + context.proposal(purpose.rawValue, "--flow"),
      ],
      [
        JSONMember("authorization_url", .string(answer.authorizationURL)),
        JSONMember("response_mode", .lowercaseWord(answer.responseMode)),
        JSONMember("expires_at", .moment(answer.expiresAtMillis)),
      ])
  }
}
