package import Pages
package import SignOn
internal import Vocabulary

/// The endpoints for browsers below `/.sallyport/`: sign-in, sign-out and the session document on every host, and the
/// callback of a provider on hosts with endpoints.
package struct BrowserSessionEndpoints: Sendable {
    /// How browsers sign in.
    package enum Way: Sendable {
        /// With the form of the sign-in page.
        case password(PasswordSignIn)
        /// At a provider that redirects the browser.
        case provider(BrowserSignInFlow)
        /// At the pages of a provider whose own cookie the gateway accepts.
        case pages(ProviderPages)

        var sessions: SessionService {
            switch self {
            case .password(let passwords): passwords.sessions
            case .provider(let flow): flow.sessions
            case .pages(let pages): pages.sessions
            }
        }
    }

    /// Where a sign-out at the provider ends: to be registered there.
    package static func signedOutPath(by design: PageDesign) -> String { design.path(Page.signedOut) }
    /// Where a provider sends browsers back: to be registered there.
    package static func callbackPath(by design: PageDesign) -> String {
        design.base.isEmpty ? self.callback : OAuth2ProxyEndpoints.callback
    }

    /// The path of the callback where no other product's paths are served.
    static let callback = "/.sallyport/callback"

    let sessions: SessionService
    let cookies: RequestCookies
    let providerSignOut: ProviderSignOut?
    let native: NativeSignIns?
    let callbacks = CallbackFlights()
    private let way: Way
    private let handoffParameter: String

    /// - Parameters:
    ///   - cookieName: The configured name of the session cookie.
    ///   - handoffParameter: The query parameter that may carry a transfer token; it is removed from every `return_to`.
    ///   - native: Signs users of native apps in with the browser; nil: apps have no such sign-in.
    ///   - providerSignOut: Continues a sign-out at the provider; nil if users sign in with passwords.
    package init(
        _ way: Way,
        cookieName: String,
        handoffParameter: String,
        native: NativeSignIns? = nil,
        providerSignOut: ProviderSignOut? = nil
    ) {
        self.way = way
        self.native = native
        self.providerSignOut = providerSignOut
        self.sessions = way.sessions
        self.cookies = RequestCookies(name: cookieName)
        self.handoffParameter = handoffParameter
    }

    package var endpoints: [Endpoint] {
        self.signIn + [self.native.flatMap { self.appEndpoint($0, self.way) }].compactMap(\.self) + [
            Endpoint.everywhere(Page.logout, ["GET", "HEAD", "POST"]) {
                $0.method == "POST" ? await self.signOut($0) : self.askToSignOut($0)
            },
            Endpoint(path: Page.signedOut, methods: ["GET", "HEAD"], scope: .everyHost) { await self.signedOut($0) },
            Endpoint(path: "/.sallyport/session", methods: ["GET", "HEAD"], scope: .everyHost, answer: self.session),
        ]
    }

    private var signIn: [Endpoint] {
        switch self.way {
        case .password(let passwords):
            [
                .everywhere(SignInPath.path, ["GET", "HEAD", "POST"]) { request in
                    if request.method == "POST" { return await self.signIn(request, passwords) }
                    return self.handingOver(request) ?? self.askToSignIn(request)
                }
            ]
        case .pages(let pages):
            [
                Endpoint(path: SignInPath.path, methods: ["GET", "HEAD"], scope: .everyHost) {
                    self.handingOver($0) ?? self.login($0, pages)
                }
            ]
        case .provider(let flow):
            [
                Endpoint(path: SignInPath.path, methods: ["GET", "HEAD"], scope: .everyHost) {
                    if let answer = self.handingOver($0) { return answer }
                    return await self.login($0, flow)
                },
                Endpoint(path: Self.callback, methods: ["GET"], outlivesClient: true) {
                    await self.comeBack($0, flow)
                },
            ]
        }
    }

    /// A link to the sign-in page that brings a session-transfer token leads to the page behind it, with the token: its
    /// route judges it, and comes back here without it if it is refused. nil where there is none, and where a token does
    /// not suffice because the user has to authenticate again.
    ///
    /// Only the page of this host that the link names gets it; no `return_to` does.
    private func handingOver(_ request: EndpointRequest) -> EndpointResponse? {
        let tokens = request.parameters(self.handoffParameter).filter { !$0.isEmpty }
        guard request.isTopLevelPageLoad, tokens.count == 1, !SignInDemand(request.query).isAgain else { return nil }
        let page = self.returnTo(request.parameters(SignInPath.returnTo))
        let token = FormText.encoded([(self.handoffParameter, tokens[0])])
        return .seeOther(
            page + (page.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + token,
            fields: [("referrer-policy", "no-referrer")]
        )
    }

    /// The page of this host to which a request leads back.
    func returnTo(_ values: [String]) -> String { ReturnTo.page(values, without: self.handoffParameter) }
}
