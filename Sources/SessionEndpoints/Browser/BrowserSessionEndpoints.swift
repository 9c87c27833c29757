package import Endpoints
package import SignIn

/// The endpoints for browsers below `/.sallyport/`: sign-in, sign-out and the session document on every host, and the
/// callback of a provider on hosts with endpoints.
package struct BrowserSessionEndpoints: Sendable {
    /// How browsers sign in.
    package enum Way: Sendable {
        /// With the form of the sign-in page.
        case password(PasswordSignIn)
        /// At a provider that redirects the browser.
        case provider(BrowserSignInFlow)

        var sessions: SessionService {
            switch self {
            case .password(let passwords): passwords.sessions
            case .provider(let flow): flow.sessions
            }
        }
    }

    /// Where a sign-out at the provider ends: to be registered there.
    package static let signedOutPath = Page.signedOut
    /// Where a provider sends browsers back: to be registered there.
    package static let callbackPath = "/.sallyport/callback"

    let sessions: SessionService
    let cookies: RequestCookies
    let providerSignOut: ProviderSignOut?
    private let way: Way
    private let handoffParameter: String

    /// - Parameters:
    ///   - cookieName: The configured name of the session cookie.
    ///   - handoffParameter: The query parameter that may carry a transfer token; it is removed from every `return_to`.
    ///   - providerSignOut: Continues a sign-out at the provider; nil if users sign in with passwords.
    package init(
        _ way: Way,
        cookieName: String,
        handoffParameter: String,
        providerSignOut: ProviderSignOut? = nil
    ) {
        self.way = way
        self.providerSignOut = providerSignOut
        self.sessions = way.sessions
        self.cookies = RequestCookies(name: cookieName)
        self.handoffParameter = handoffParameter
    }

    package var endpoints: [Endpoint] {
        self.signIn + [
            Endpoint(
                path: Page.logout,
                methods: ["GET", "HEAD", "POST"],
                scope: .everyHost,
                outlivesClient: true,
                answer: { $0.method == "POST" ? await self.signOut($0) : self.askToSignOut($0) }
            ),
            Endpoint(path: Page.signedOut, methods: ["GET", "HEAD"], scope: .everyHost) { await self.signedOut($0) },
            Endpoint(
                path: "/.sallyport/session",
                methods: ["GET", "HEAD"],
                scope: .everyHost,
                answer: self.session
            ),
        ]
    }

    private var signIn: [Endpoint] {
        switch self.way {
        case .password(let passwords):
            [
                Endpoint(
                    path: SignInPath.path,
                    methods: ["GET", "HEAD", "POST"],
                    scope: .everyHost,
                    outlivesClient: true,
                    answer: { $0.method == "POST" ? await self.signIn($0, passwords) : self.askToSignIn($0) }
                )
            ]
        case .provider(let flow):
            [
                Endpoint(path: SignInPath.path, methods: ["GET", "HEAD"], scope: .everyHost) {
                    await self.login($0, flow)
                },
                Endpoint(path: Self.callbackPath, methods: ["GET"], scope: .endpointHosts, outlivesClient: true) {
                    await self.comeBack($0, flow)
                },
            ]
        }
    }

    /// The page of this host to which a request leads back.
    func returnTo(_ values: [String]) -> String { ReturnTo.page(values, without: self.handoffParameter) }
}
