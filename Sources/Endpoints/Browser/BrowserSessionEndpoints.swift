package import Pages
package import SignOn
import Vocabulary

/// The endpoints for browsers below `/.sallyport/`: sign-in, sign-out and the session document on every host, and the
/// callback of a provider on hosts with endpoints.
package struct BrowserSessionEndpoints: Sendable {
    /// Where a sign-out at the provider ends: to be registered there.
    package static func signedOutPath(by design: PageDesign) -> String { design.path(Page.signedOut) }
    /// Where a provider sends browsers back: to be registered there.
    package static func callbackPath(by design: PageDesign) -> String {
        design.base.isEmpty ? self.callback : OAuth2ProxyEndpoints.callback
    }

    /// The path of the callback where no other product's paths are served.
    static let callback = "/.sallyport/callback"

    /// The same of a provider on a host with several: each has a place of its own, so that what one sends back is never
    /// taken for another's (mix-up, RFC 9700 4.4.2.2). nil: it is the only one.
    package static func callbackPath(of name: String?, by design: PageDesign) -> String {
        name.map { design.path(self.callback(of: $0)) } ?? self.callbackPath(by: design)
    }

    /// The path of the callback of one of several providers where no other product's paths are served.
    private static func callback(of name: String) -> String { "\(self.callback)/\(name)" }

    let sessions: SessionService
    let cookies: RequestCookies
    let providerSignOut: ProviderSignOut?
    let native: NativeSignIns?
    let callbacks = CallbackFlights()
    let ways: SignInWays
    /// Whether a browser may have been signed in by a transfer token.
    let hasTransfers: Bool
    private let handoffParameter: String
    /// `host[:port]` of the hosts whose sign-in page asks for the user's address first.
    private let identifierFirst: Set<String>

    /// - Parameters:
    ///   - sessions: Finds and ends the sessions of all users of the host.
    ///   - cookieName: The configured name of the session cookie.
    ///   - handoffParameter: The query parameter that may carry a transfer token; it is removed from every `return_to`.
    ///   - hasTransfers: Whether some route signs browsers in by a transfer token.
    ///   - native: Signs users of native apps in with the browser; nil: apps have no such sign-in.
    ///   - providerSignOut: Continues a sign-out at the provider; nil if users sign in with passwords.
    ///   - identifierFirst: `host[:port]` of the hosts whose sign-in page asks for the user's address first.
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

    /// Whether a page that offers several ways asks for the user's address first on the host of this request.
    func asksForIdentifier(_ request: EndpointRequest, _ ways: [SignInWay]) -> Bool {
        ways.count > 1 && self.identifierFirst.contains(request.authority)
    }

    /// Whether the sign-in pages take forms on some host.
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

    /// A link to the sign-in page that brings a session-transfer token leads to the page behind it, with the token: its
    /// route judges it, and comes back here without it if it is refused. nil where there is none, and where a token does
    /// not suffice because the user has to authenticate again.
    ///
    /// Only the page of this host that the link names gets it; no `return_to` does.
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

    /// Refuses a form that the host of the request does not take.
    func refuseMethod(_ request: EndpointRequest) -> EndpointResponse {
        .problem(.routeMethodNotAllowed, requestID: request.requestID, fields: [("allow", "GET, HEAD")])
    }

    /// The page of the request's host to which the request leads back: a path, or a URL of the host.
    func returnTo(_ values: [String], _ request: EndpointRequest) -> String {
        ReturnTo.page(values, of: request.origin, without: self.handoffParameter)
    }
}
