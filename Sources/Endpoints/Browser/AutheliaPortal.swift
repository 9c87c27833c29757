import Pages
import Vocabulary

/// The paths of Authelia's portal to which apps link: they lead to the gateway's own pages. Served on the host of the portal,
/// where no app would answer.
package struct AutheliaPortal: Sendable {
    /// Finds the page that `rd` names.
    private let wanted: OAuth2ProxyEndpoints

    /// - Parameter wanted: Those of the same hosts: both products name the page in `rd`.
    package init(wanted: OAuth2ProxyEndpoints) {
        self.wanted = wanted
    }

    package var endpoints: [Endpoint] {
        [
            Endpoint(path: "/", methods: ["GET", "HEAD"]) { request in
                let page = self.wanted.page(request)
                // A sign-in that leads nowhere else would come back here.
                guard page.origin != request.origin || page.path != "/" else { return .seeOther(SessionsPage.path) }
                let signIn = SignInPath.leading(to: page.path.utf8, demanding: SignInDemand())
                return .seeOther(page.origin + request.design.path(signIn))
            },
            // The session that all hosts share is the portal's. So the user signs out here, also on the way to another host.
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
