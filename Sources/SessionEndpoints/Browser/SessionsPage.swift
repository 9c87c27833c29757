package import Endpoints
internal import Sessions
package import SignIn
internal import Vocabulary

/// The page on which users see where they are signed in, and sign out elsewhere. On every host.
package struct SessionsPage: Sendable {
    private static let path = "/.sallyport/sessions"

    private let users: UserSessions
    private let cookies: RequestCookies

    /// - Parameter cookieName: The configured name of the session cookie.
    package init(users: UserSessions, cookieName: String) {
        self.users = users
        self.cookies = RequestCookies(name: cookieName)
    }

    package var endpoint: Endpoint {
        Endpoint(
            path: Self.path,
            methods: ["GET", "HEAD", "POST"],
            scope: .everyHost,
            outlivesClient: true,
            answer: self.answer
        )
    }

    @Sendable
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        let requester = self.cookies.requester(request)
        do {
            let current: FoundSession
            switch try await self.users.sessions.web(requester) {
            case .session(let found): current = found
            case .none(let reason): return self.refuse(reason, request)
            }
            // Whoever acts for the user neither sees nor ends the user's other sessions.
            guard current.session.actor == nil else { return self.refuse(.requireActor, request) }
            guard request.method == "POST" else { return try await self.page(current, request) }
            // Cross-site request forgery: only this page signs anyone out.
            guard SameOrigin.isProven(request) else {
                await self.users.sessions.recordDenial(.requestCrossSite, for: requester)
                return self.refuse(.requestCrossSite, request)
            }
            guard let id = (try? BodyParameters(request, accepting: [.form]))?.text("session") else {
                return self.refuse(.requestParameters, request)
            }
            let all = try await self.users.all(of: current.session.subject)
            if let found = all.first(where: { $0.session.id == id }), found.key != current.key {
                try await self.users.end(found, for: requester)
            }
            return .seeOther(Self.path)
        } catch {
            return self.refuse(SessionService.reason(error), request)
        }
    }

    private func refuse(_ reason: Reason, _ request: EndpointRequest) -> EndpointResponse {
        var fields: [(name: String, value: String)] = []
        if reason.refusal?.clearsSession == true {
            fields.append(("set-cookie", self.cookies.cookie(request).clearing()))
        }
        return .problem(
            reason,
            requestID: request.requestID,
            loginURL: SignInPath.url(on: request.origin),
            fields: fields
        )
    }

    private func page(_ current: FoundSession, _ request: EndpointRequest) async throws(StoreError) -> EndpointResponse
    {
        var all = try await self.users.all(of: current.session.subject)
        if !all.contains(where: { $0.key == current.key }) { all.insert(current, at: 0) }
        let items = all.map { Self.item($0, isCurrent: $0.key == current.key) }
        return .page(
            200,
            WebPage(
                title: "Where you are signed in",
                content: """
                    <p>If you do not know one of these, sign it out and change your password.</p>
                    <ul class="list">
                    \(items.joined(separator: "\n"))
                    </ul>
                    <a class="way" href="\(Page.logout)">Sign out here</a>
                    """
            ),
            fields: [("vary", "Cookie")]
        )
    }

    private static func item(_ found: FoundSession, isCurrent: Bool) -> String {
        let session = found.session
        let place = session.device.map { device in
            "\(device.address)\(device.asn.map { " (AS\($0))" } ?? "")"
        }
        let facts = [
            self.words(session.origin), session.actor.map { "used by \($0), who acts for you" },
            place.map { "from \($0)" },
            "last seen \((found.usedAt ?? session.issuedAt).rfc3339)", session.host.map { "on \($0)" },
        ].compactMap(\.self)
        let name = HTMLText.escaped(DeviceName.text(session.device?.userAgent))
        let end =
            isCurrent
            ? "<strong>This session</strong>"
            : """
            <form method="post" action="\(self.path)">
            <input type="hidden" name="session" value="\(HTMLText.escaped(session.id))">
            <button type="submit" aria-label="Sign out \(name)">Sign out</button>
            </form>
            """
        return "<li><h2>\(name)</h2><p>\(HTMLText.escaped(facts.joined(separator: ", ")))</p>\(end)</li>"
    }

    private static func words(_ origin: Session.Origin) -> String {
        switch origin {
        case .browser: "Browser"
        case .native: "App"
        case .transfer: "Browser, opened by an app"
        }
    }
}

/// What people call a device, as far as its user agent says.
enum DeviceName {
    private static let systems = [
        ("Windows", "Windows"), ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"),
        ("Macintosh", "Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux"),
    ]
    /// In the order in which they are recognised: most claim to be others as well.
    private static let programs = [
        ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"), ("Safari/", "Safari"),
    ]
    private static let longest = 60

    /// `Firefox on Windows`, or the first product of the user agent.
    static func text(_ userAgent: String?) -> String {
        guard let userAgent, !userAgent.isEmpty else { return "Unknown device" }
        let system = self.systems.first { userAgent.contains($0.0) }?.1
        if let program = self.programs.first(where: { userAgent.contains($0.0) })?.1 {
            return system.map { "\(program) on \($0)" } ?? program
        }
        let product = userAgent.prefix { $0 != " " }.prefix(self.longest)
        return system.map { "\(product) on \($0)" } ?? String(product)
    }
}
