import Pages
import Sessions
package import SignOn
import Vocabulary

/// The page where users see their sessions and end other sessions. Every host has this page.
package struct SessionsPage: Sendable {
    package static let path = ReturnTo.sessionsPage
    /// The field of the form that ends all other sessions.
    private static let others = "others"

    /// Shows times in the browser's time zone and in the page's language.
    private static let localTimes = WebPage.Script(
        """
        const form=new Intl.DateTimeFormat(document.documentElement.lang,{dateStyle:"medium",timeStyle:"short"});\
        for(const time of document.querySelectorAll("time"))time.textContent=form.format(new Date(time.dateTime))
        """
    )

    private let users: UserSessions
    private let cookies: RequestCookies
    private let arePasswordsHere: Bool

    /// - Parameters:
    ///   - cookieName: The configured name of the session cookie.
    ///   - arePasswordsHere: Whether the gateway checks passwords. It decides the advice on changing the password.
    package init(users: UserSessions, cookieName: String, arePasswordsHere: Bool = true) {
        self.users = users
        self.arePasswordsHere = arePasswordsHere
        self.cookies = RequestCookies(name: cookieName)
    }

    package var endpoint: Endpoint {
        var endpoint = Endpoint.everywhere(Self.path, ["GET", "HEAD", "POST"], answer: self.answer)
        endpoint.usesTransferTokens = true
        return endpoint
    }

    @Sendable
    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        let requester = request.requester
        do {
            let current = try await self.users.sessions.web(requester)
            // An actor neither sees nor ends the user's other sessions.
            guard current.session.actor == nil else { return self.refuse(.requireActor, request) }
            guard request.method == "POST" else { return try await self.page(current, request) }
            // Cross-site request forgery: only this page may sign anyone out.
            guard SameOrigin.isProven(request) else {
                await self.users.sessions.recordDenial(.requestCrossSite, for: requester)
                return self.refuse(.requestCrossSite, request)
            }
            let form = try? BodyParameters(request, accepting: [.form])
            let id = form?.text("session")
            guard id != nil || form?.text(Self.others) != nil else { return self.refuse(.requestParameters, request) }
            if let id {
                let found = try await self.users.others(than: current).first { $0.session.id == id }
                if let found { try await self.users.endOne(found, for: requester) }
            } else {
                _ = try await self.users.endOthers(than: current, for: requester)
            }
            return .seeOther(Self.path)
        } catch {
            return self.refuse(error.reason, request)
        }
    }

    private func refuse(_ reason: Reason, _ request: EndpointRequest) -> EndpointResponse {
        var response = EndpointResponse.problem(
            reason,
            requestID: request.requestID,
            loginURL: request.signInURL,
            fields: self.cookies.clearing(for: reason, request)
        )
        response.signIn = SignInPath.leading(to: Self.path.utf8, demanding: SignInDemand())
        return response
    }

    private func page(_ current: FoundSession, _ request: EndpointRequest) async throws(NotDone) -> EndpointResponse {
        let found = try await self.users.all(withUserOf: current)
        // The current session comes first, because users look for it. Other sessions of its sign-in come next.
        let own = found.filter { $0.key != current.key && $0.isSignIn(of: current) }
        let others = found.filter { !$0.isSignIn(of: current) }
        let pages = request.pages
        let language = pages.language
        let used = found.first { $0.key == current.key } ?? current
        let items =
            ([used] + own).map { Self.item($0, isCurrent: true, pages) }
            + others.map { Self.item($0, isCurrent: false, pages) }
        let advice = language.html(self.arePasswordsHere ? .sessionsAdvice : .sessionsAdviceProvider)
        let change = pages.changePasswordURL.map { url in
            #" <a href="\#(HTMLText.escaped(url))">\#(language.html(.sessionsChangePassword))</a>"#
        }
        let endOthers = """
            <form method="post" action="\(pages.path(Self.path))">
            <input type="hidden" name="\(Self.others)" value="1">
            <button class="quiet end" type="submit">\(language.html(.sessionsOthers))</button>
            </form>

            """
        return .page(
            200,
            WebPage(
                .sessions,
                title: language.text(.sessionsTitle),
                content: """
                    <p>\(advice)\(change ?? "")</p>
                    <ul class="list">
                    \(items.joined(separator: "\n"))
                    </ul>
                    \(others.isEmpty ? "" : endOthers)\
                    <a class="way quiet" href="\(pages.path(Page.logout))">\(language.html(.sessionsSignOutHere))</a>
                    <p class="back"><a href="/">\(language.html(.linkStart))</a></p>
                    """,
                script: Self.localTimes
            ),
            by: pages,
            fields: [("vary", "Cookie")]
        )
    }

    private static func item(_ found: FoundSession, isCurrent: Bool, _ pages: PageWriter) -> String {
        let language = pages.language
        let session = found.session
        let place = session.device.map { device in
            "\(device.address)\(device.asn.map { " (AS\($0))" } ?? "")"
        }
        let facts = [
            HTMLText.escaped(language.text(self.origin(session.origin))),
            session.actor.map { HTMLText.escaped(language.text(.sessionsActor, ["actor": $0])) },
            place.map { HTMLText.escaped(language.text(.sessionsAddress, ["address": $0])) },
            self.seen(found.usedAt ?? session.issuedAt, language),
            session.host.map { HTMLText.escaped(language.text(.sessionsHost, ["host": $0])) },
        ].compactMap(\.self)
        let name = DeviceName.text(session.device?.userAgent, language)
        let signOut = HTMLText.escaped(language.text(.sessionsSignOutNamed, ["device": name]))
        let end =
            isCurrent
            ? "<strong class=\"here\">\(language.html(.sessionsCurrent))</strong>"
            : """
            <form method="post" action="\(pages.path(self.path))">
            <input type="hidden" name="session" value="\(HTMLText.escaped(session.id))">
            <button class="quiet" type="submit" aria-label="\(signOut)">\(language.html(.sessionsSignOut))</button>
            </form>
            """
        return
            "<li><div><h2>\(HTMLText.escaped(name))</h2><p>\(facts.joined(separator: ", "))</p></div>\(end)</li>"
    }

    /// Returns the text with the time of the last use. Without the script, the time is in UTC.
    private static func seen(_ time: UnixTime, _ language: PageLanguage) -> String {
        let place = "\u{FFFC}"
        let element = "<time datetime=\"\(time.rfc3339)\">\(self.text(time))</time>"
        return HTMLText.escaped(language.text(.sessionsSeen, ["time": place])).replacing(place, with: element)
    }

    /// Returns a time to the minute, without line breaks.
    private static func text(_ time: UnixTime) -> String {
        let text = time.rfc3339
        return "\(text.prefix(10).replacing("-", with: "\u{2011}"))\u{A0}\(text.dropFirst(11).prefix(5))\u{A0}UTC"
    }

    private static func origin(_ origin: Session.Origin) -> PageText {
        switch origin {
        case .browser: .sessionsBrowser
        case .native: .sessionsApp
        case .transfer: .sessionsTransfer
        }
    }
}

/// The name of a device, as far as its user agent reveals it.
enum DeviceName {
    private static let systems = [
        ("Windows", "Windows"), ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"),
        ("Macintosh", "Mac"), ("CrOS", "ChromeOS"), ("Linux", "Linux"),
    ]
    /// In the order in which they are tried, because most programs also claim to be other programs.
    private static let programs = [
        ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"),
        ("Chrome/", "Chrome"), ("Safari/", "Safari"),
    ]
    private static let longest = 60

    /// Returns a name such as `Firefox on Windows`, or the first product of the user agent.
    static func text(_ userAgent: String?, _ language: PageLanguage) -> String {
        guard let userAgent, !userAgent.isEmpty else { return language.text(.sessionsUnknownDevice) }
        let system = self.systems.first { userAgent.utf8.contains($0.0.utf8) }?.1
        if let program = self.programs.first(where: { userAgent.utf8.contains($0.0.utf8) })?.1 {
            return self.text(program, system, language)
        }
        // The version is left out.
        let product = userAgent.prefix { $0 != " " && $0 != "/" }.prefix(self.longest)
        return product.isEmpty
            ? language.text(.sessionsUnknownDevice) : self.text(String(product), system, language)
    }

    private static func text(_ program: String, _ system: String?, _ language: PageLanguage) -> String {
        system.map { language.text(.sessionsDevice, ["program": program, "system": $0]) } ?? program
    }
}
