package import Pages
package import SignOn
import Vocabulary

/// The endpoints for browsers under `/.sallyport/`: sign-in, sign-out and the session document on every host, and a
/// provider's callback on hosts with endpoints.
package struct BrowserSessionEndpoints: Sendable {
    /// Returns the path where a provider's sign-out ends. It must be registered at the provider.
    package static func signedOutPath(by design: PageDesign) -> String { design.path(Page.signedOut) }
    /// Returns the path to which a provider sends browsers back. It must be registered at the provider.
    package static func callbackPath(by design: PageDesign) -> String {
        design.base.isEmpty ? self.callback : OAuth2ProxyEndpoints.callback
    }

    /// The path of the callback if the paths of oauth2-proxy are not served.
    static let callback = "/.sallyport/callback"

    /// Returns the callback path of a provider. Each of several providers has its own path, against mix-up attacks (RFC
    /// 9700 4.4.2.2). `name` is `nil` for the only provider.
    package static func callbackPath(of name: String?, by design: PageDesign) -> String {
        name.map { design.path(self.callback(of: $0)) } ?? self.callbackPath(by: design)
    }

    /// Returns the callback path of one of several providers, without the design's path prefix.
    private static func callback(of name: String) -> String { "\(self.callback)/\(name)" }

    let sessions: SessionService
    let cookies: RequestCookies
    let providerSignOut: ProviderSignOut?
    let native: NativeSignIns?
    let callbacks = CallbackFlights()
    let ways: SignInWays
    /// Whether some route signs browsers in with a transfer token.
    let hasTransfers: Bool
    private let handoffParameter: String
    /// The hosts (`host[:port]`) whose sign-in page asks for the user's address first.
    private let identifierFirst: Set<String>

    /// - Parameters:
    ///   - sessions: Finds and ends the sessions of all users of the host.
    ///   - cookieName: The configured name of the session cookie.
    ///   - handoffParameter: The query parameter for transfer tokens. It is removed from every `return_to`.
    ///   - hasTransfers: Whether some route signs browsers in with a transfer token.
    ///   - native: Signs users of native apps in through the browser. `nil` if apps cannot do this.
    ///   - providerSignOut: Continues a sign-out at the provider. `nil` if no provider signs in by redirect.
    ///   - identifierFirst: The hosts (`host[:port]`) whose sign-in page asks for the user's address first.
    package init(
        _ ways: SignInWays,
        sessions: SessionService,
        cookieName: String,
        handoffParameter: String,
        hasTransfers: Bool = true,
        native: NativeSignIns? = nil,
        providerSignOut: ProviderSignOut? = nil,
        identifierFirst: Set<String> = []
    ) {
        self.ways = ways
        self.hasTransfers = hasTransfers
        self.native = native
        self.providerSignOut = providerSignOut
        self.sessions = sessions
        self.cookies = RequestCookies(name: cookieName)
        self.handoffParameter = handoffParameter
        self.identifierFirst = identifierFirst
    }

    /// Returns whether a page with these ways asks for the user's address first on the request's host.
    func asksForIdentifier(_ request: EndpointRequest, _ ways: [SignInWay]) -> Bool {
        ways.count > 1 && self.identifierFirst.contains(request.authority)
    }

    /// Whether the sign-in pages accept forms on at least one host.
    var takesForm: Bool { self.ways.passwords != nil || !self.identifierFirst.isEmpty }

    package var endpoints: [Endpoint] {
        self.signIn + [self.native.flatMap(self.appEndpoint)].compactMap(\.self) + [
            Endpoint.everywhere(Page.logout, ["GET", "HEAD", "POST"]) {
                $0.method == "POST" ? await self.signOut($0) : await self.askToSignOut($0)
            },
            Endpoint(path: Page.signedOut, methods: ["GET", "HEAD"], scope: .everyHost) { await self.signedOut($0) },
            Endpoint(path: "/.sallyport/session", methods: ["GET", "HEAD"], scope: .everyHost, answer: self.session),
        ]
    }

    private var signIn: [Endpoint] {
        let page = Endpoint(
            path: SignInPath.path,
            methods: ["GET", "HEAD"] + (self.takesForm ? ["POST"] : []),
            scope: .everyHost,
            outlivesClient: self.takesForm
        ) { request in
            if request.method == "POST" {
                if let form = self.identifierForm(request) { return await self.identify(request, form) }
                guard let passwords = self.ways.passwords else { return self.refuseMethod(request) }
                return await self.signIn(request, passwords)
            }
            if let answer = self.handingOver(request) { return answer }
            return await self.login(request)
        }
        let flows = self.ways.flows
        guard !flows.isEmpty else { return [page] }
        func callback(_ path: String, of flow: BrowserSignInFlow?, byForm: Bool) -> Endpoint {
            Endpoint(path: path, methods: ["GET"] + (byForm ? ["POST"] : []), outlivesClient: true) {
                await self.comeBack($0, flow)
            }
        }
        return [page, callback(Self.callback, of: nil, byForm: flows.contains(where: \.answersByForm))]
            + flows.compactMap { flow in
                flow.name.map { callback(Self.callback(of: $0), of: flow, byForm: flow.answersByForm) }
            }
    }

    /// If the link carries a session-transfer token, redirects with the token to the page in `return_to`. The route of
    /// this page judges the token. `nil` if the request is not a page load in a tab with exactly one token, or if the
    /// user has to authenticate again.
    ///
    /// If the route refuses the token, the browser comes back without it, because no `return_to` contains the token.
    private func handingOver(_ request: EndpointRequest) -> EndpointResponse? {
        let tokens = request.parameters(self.handoffParameter).filter { !$0.isEmpty }
        guard request.isTopLevelPageLoad, tokens.count == 1, !SignInDemand(request.query).isAgain else { return nil }
        let page = self.returnTo(request.parameters(SignInPath.returnTo), request)
        let token = FormText.encoded([(self.handoffParameter, tokens[0])])
        return .seeOther(
            ReturnTo.adding(token, to: page),
            fields: [("referrer-policy", "no-referrer")]
        )
    }

    /// Refuses a form that the request's host does not accept.
    func refuseMethod(_ request: EndpointRequest) -> EndpointResponse {
        .problem(.routeMethodNotAllowed, requestID: request.requestID, fields: [("allow", "GET, HEAD")])
    }

    /// Returns the safe page in `values` (`ReturnTo.page`).
    func returnTo(_ values: [String], _ request: EndpointRequest) -> String {
        ReturnTo.page(values, of: request.origin, without: self.handoffParameter)
    }
}
