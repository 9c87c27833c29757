import Pages
import Vocabulary

/// The paths of Authelia's portal that apps link to. They lead to the gateway's own pages, and are served on the
/// portal's host, where no app would answer.
package struct AutheliaPortal: Sendable {
    /// The endpoints that find the page that `rd` names.
    private let wanted: OAuth2ProxyEndpoints

    /// - Parameter wanted: The endpoints of the portal's hosts. Authelia and oauth2-proxy both name the page in `rd`.
    package init(wanted: OAuth2ProxyEndpoints) {
        self.wanted = wanted
    }

    package var endpoints: [Endpoint] {
        [
            Endpoint(path: "/", methods: ["GET", "HEAD"]) { request in
                let page = self.wanted.page(request)
                // A sign-in that leads to the portal itself would come back here.
                guard page.origin != request.origin || page.path != "/" else { return .seeOther(SessionsPage.path) }
                let signIn = SignInPath.leading(to: page.path.utf8, demanding: SignInDemand())
                return .seeOther(page.origin + request.design.path(signIn))
            },
            // All hosts share the portal's session, so the user signs out here, even on the way to another host.
            Endpoint(path: "/logout", methods: ["GET", "HEAD", "POST"]) { request in
                let page = self.wanted.page(request)
                let path =
                    page.origin == request.origin
                    ? page.path : "/?" + FormText.encoded([("rd", page.origin + page.path)])
                return .seeOther("\(Page.logout)?" + FormText.encoded([(SignInPath.returnTo, path)]))
            },
        ]
    }
}
