import Pages
package import Settings
import Vocabulary

/// The paths of oauth2-proxy, for proxies that were configured for it. They lead to the gateway's own pages, which are
/// also served under `/oauth2/`, because these proxies forward no other path.
package struct OAuth2ProxyEndpoints: Sendable {
    private static let signInPaths = ["/oauth2/start", "/oauth2/sign_in"]
    private static let signOutPath = "/oauth2/sign_out"
    /// The callback path that is registered at a provider for oauth2-proxy.
    static let callback = "/oauth2/callback"
    /// Apps sign out with links and with forms.
    private static let methods = ["GET", "HEAD", "POST"]

    /// The origins of the hosts on which the wanted page may be.
    private let origins: ServedOrigins
    private let handoffParameter: String

    /// - Parameters:
    ///   - origins: The origins of the hosts on which the wanted page may be.
    ///   - handoffParameter: The query parameter for transfer tokens. It is removed from every `return_to`.
    package init(origins: ServedOrigins, handoffParameter: String) {
        self.origins = origins
        self.handoffParameter = handoffParameter
    }

    /// Returns `endpoints`, copies of the gateway's pages under `/oauth2/`, and the endpoints of oauth2-proxy.
    package func added(to endpoints: [Endpoint]) -> [Endpoint] {
        let pages = endpoints.filter { $0.path.hasPrefix(PageDesign.ownPages) }
        return endpoints + pages.map { $0.moved(to: PageDesign.oauth2ProxyBase + $0.path) }
            + pages.filter { $0.path == BrowserSessionEndpoints.callback }.map { $0.moved(to: Self.callback) }
            + self.endpoints
    }

    package var endpoints: [Endpoint] {
        Self.signInPaths.map { path in
            Endpoint(path: path, methods: Self.methods, scope: .everyHost) { request in
                let page = self.page(request)
                let path = SignInPath.leading(to: page.path.utf8, demanding: SignInDemand())
                return .leading(to: page.origin + request.design.path(path), request)
            }
        } + [
            Endpoint(path: Self.signOutPath, methods: Self.methods, scope: .everyHost) { request in
                let page = self.page(request)
                return .seeOther(
                    "\(page.origin)\(Page.logout)?" + FormText.encoded([(SignInPath.returnTo, page.path)])
                )
            }
        ]
    }

    /// Returns the wanted page: `rd`, otherwise the proxy's field. Only a URL of one of the hosts or a path of this
    /// host is accepted. Anything else becomes `/`.
    func page(_ request: EndpointRequest) -> (origin: String, path: String) {
        var wanted = request.parameters("rd")
        if wanted.isEmpty { wanted = [request.field(WantedPageField.name)].compactMap(\.self) }
        if wanted.count == 1, let written = UnencodedURL.value(of: "rd", in: request.rawQuery) { wanted = [written] }
        if wanted.count == 1, let url = ReturnTo.url(wanted[0]), self.origins.contains(url.origin) {
            return (url.origin, self.page([url.path]))
        }
        return (request.origin, self.page(wanted))
    }

    /// Returns the wanted page. A page under `/oauth2/` becomes `/`, because a sign-in that returns to it would loop.
    private func page(_ values: [String]) -> String {
        let page = ReturnTo.page(values, without: self.handoffParameter)
        return page.hasPrefix("\(PageDesign.oauth2ProxyBase)/") ? "/" : page
    }
}

/// The field in which proxies name the wanted page to oauth2-proxy.
package enum WantedPageField {
    package static let name = "x-auth-request-redirect"
}

extension EndpointResponse {
    /// Returns 303 with a page that links to `location`, because `error_page 401 =403` of nginx replaces the status.
    fileprivate static func leading(to location: String, _ request: EndpointRequest) -> EndpointResponse {
        let language = request.pages.language
        let way = "<a class=\"way\" href=\"\(HTMLText.escaped(location))\" target=\"_top\">"
        let content = """
            <p>\(HTMLText.escaped(language.text(.unauthenticated, .event)))</p>
            \(way)\(HTMLText.escaped(language.text(.linkSignIn)))</a>
            """
        return .page(
            303,
            WebPage(.error, title: language.text(.unauthenticated, .title), content: content),
            by: request.pages,
            fields: [("location", location)]
        )
    }
}
