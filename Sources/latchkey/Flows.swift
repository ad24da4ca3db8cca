import ArgumentParser
import Encodings
import Reactor
import Tokens
import API

struct Start: DeskCommand {
  static let configuration = CommandConfiguration(
    abstract: "Begin a flow through a provider's own pages.",
    discussion: """
      latchkey start twitter.com --redirect-uri http://localhost:3000/callback --parameter lang=de
      latchkey sign-in --flow

      Open the address that is printed, and agree. The browser then ends at the redirect URI, where nothing has to \
      listen: what its address bar shows is what sign-in --flow asks for. Of a provider that posts its answer \
      (response mode form_post), add the posted form to the redirect URI behind a question mark.
      """)

  @Argument(help: "The provider, such as twitter.com or oidc.corp.")
  var provider: String

  @Option(name: .long, help: "Where the provider sends the browser back to; one that the service knows.")
  var redirectURI: String

  @Option(name: .long, help: "One more thing to ask the provider for; may be repeated.")
  var scope: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp("A parameter of the provider's own; may be repeated.", valueName: "name=value"))
  var parameter: [String] = []

  @Option(name: .long, help: ArgumentHelp("Whom the provider should propose.", valueName: "address"))
  var loginHint = ""

  @Option(name: .customLong("for"), help: "What the flow is to end in.")
  var purpose = Purpose.signIn

  @OptionGroup var common: CommonOptions

  func validate() throws {
    for each in parameter where !each.contains("=") {
      throw ValidationError("--parameter \(each): give NAME=VALUE.")
    }
  }

  func perform(_ desk: Desk) throws -> Report {
    let parameters = parameter.map { $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false) }
    let answer = try desk.call(
      ProviderFlowRPC.startFlow,
      StartFlowRequest(
        providerID: provider, redirectURI: redirectURI, scopes: scope,
        customParameters: Dictionary(
          parameters.map { (String($0[0]), String($0[1])) }, uniquingKeysWith: { $1 }),
        loginHint: loginHint, purpose: purpose.onTheWire,
        idToken: purpose == .signIn ? "" : try desk.session().idToken, binding: try desk.binding()))
    try desk.remember(\.flow, Profile.Pending(token: answer.flowID, expiresAtMillis: answer.expiresAtMillis))
    let until = answer.expiresAtMillis.map(rfc3339) ?? "the service forgets it"
    return Report(
      [
        "Open this address before \(until):", "", "  " + printable(answer.authorizationURL), "",
        "Then: " + desk.proposal(purpose.rawValue, "--flow"),
      ],
      [
        JSONMember("authorization_url", .string(answer.authorizationURL)),
        JSONMember("response_mode", .string(answer.responseMode)),
        JSONMember("expires_at", .moment(answer.expiresAtMillis)),
      ])
  }
}
