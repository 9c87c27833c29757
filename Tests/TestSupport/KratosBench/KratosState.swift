import Cryptography
package import Foundation
import GatewayBench
import Vocabulary

/// What Kratos knows, and its answers.
package struct KratosState: Sendable {
    /// A session, which a token presents, and the cookie as well.
    package struct Session: Sendable {
        package let id: String
        package let identityID: String
        package let token: String
        /// The present value of its cookie; earlier ones count as well, because they name the same session.
        package fileprivate(set) var cookie: String
        fileprivate var earlierCookies: [String] = []
        package var email: String
        package var aal: String
        package var isActive = true
        /// Whether its identity is in its document.
        package var hasIdentity = true
        package var issuedAt: Date
        package var authenticatedAt: Date

        fileprivate func has(_ cookie: String) -> Bool { self.cookie == cookie || self.earlierCookies.contains(cookie) }
    }

    struct Flow: Sendable {
        let id: String
        let isAPI: Bool
        let returnTo: String?
        var code: String?
    }

    struct Exchanger: Sendable {
        let initCode: String
        let returnToCode: String
        let flow: String
        var session: String?
    }

    /// The levels that `whoami` demands (`session.whoami.required_aal: highest_available`).
    package var requiredAAL = "aal1"
    /// `Ory-Session-Cache-For`; nil: the feature is off.
    package var cacheFor: Int?
    package var lifespan: TimeInterval = 86_400
    /// Whether a revoked token is one that Kratos does not know: so with MySQL, and after its records are cleaned up. With
    /// PostgreSQL and SQLite it can be revoked again.
    package var forgetsRevoked = false
    /// The users who are disabled, by address (`state: inactive`).
    package var disabled: Set<String> = []
    /// The beginnings of URLs in `selfservice.allowed_return_urls`.
    package var allowedReturnURLs: [String]
    /// The client's address in each call, as Kratos takes it.
    package private(set) var addresses: [String?] = []
    package private(set) var sessions: [Session] = []
    var flows: [String: Flow] = [:]
    var exchangers: [Exchanger] = []
    private var logoutTokens: [String: String] = [:]
    let publicURL: String

    init(publicURL: String) {
        self.publicURL = publicURL
        self.allowedReturnURLs = [publicURL, "myapp://"]
    }

    package mutating func newSession(email: String, aal: String) -> Session {
        let session = Session(
            id: UUID().uuidString.lowercased(),
            identityID: Self.identityID(of: email),
            token: "ory_st_" + Self.letters(32),
            cookie: Self.newCookie(),
            email: email,
            aal: aal,
            issuedAt: Date(),
            authenticatedAt: Date()
        )
        Secrets.shared.note(session.token)
        self.sessions.append(session)
        return session
    }

    private static func newCookie() -> String {
        let cookie = "MTc" + Random.base64URL(90)
        Secrets.shared.note(cookie)
        return cookie
    }

    /// Notes that the user has signed in again: the session goes on, with a new value of its cookie.
    mutating func refresh(_ session: Session) -> Session {
        guard let index = self.sessions.firstIndex(where: { $0.id == session.id }) else { return session }
        self.sessions[index].earlierCookies.append(self.sessions[index].cookie)
        self.sessions[index].cookie = Self.newCookie()
        self.sessions[index].authenticatedAt = Date()
        return self.sessions[index]
    }

    /// Changes a session.
    package mutating func change(_ session: Session, _ body: (inout Session) -> Void) {
        guard let index = self.sessions.firstIndex(where: { $0.id == session.id }) else { return }
        body(&self.sessions[index])
    }

    /// Makes every session older.
    package mutating func backdate(by seconds: TimeInterval) {
        for index in self.sessions.indices {
            self.sessions[index].issuedAt.addTimeInterval(-seconds)
            self.sessions[index].authenticatedAt.addTimeInterval(-seconds)
        }
    }

    static func letters(_ count: Int) -> String {
        String(Random.base64URL(count * 2).filter { $0 != "-" && $0 != "_" }.prefix(count))
    }

    private static func identityID(of email: String) -> String {
        let digits = Array(SHA256.digest(Array(email.utf8)).base64URL.utf8).prefix(16).map {
            String(format: "%02x", $0)
        }
        .joined()
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
            String(
                digits[
                    String.Index(
                        utf16Offset: range.lowerBound,
                        in: digits
                    )..<String.Index(utf16Offset: range.upperBound, in: digits)
                ]
            )
        }
        return parts.joined(separator: "-")
    }

    // MARK: Answers

    mutating func answer(to call: KratosCall) -> KratosAnswer {
        self.addresses.append(call.clientAddress)
        switch (call.method, call.path) {
        case ("GET", "/health/ready"): return .json(200, ["status": "ok"])
        case (_, "/sessions/whoami"): return self.whoami(call)
        case ("GET", "/sessions/token-exchange"): return self.exchange(call)
        case ("GET", "/sessions"): return self.list(call)
        case ("DELETE", "/sessions"): return self.endOthers(call)
        case ("DELETE", let path) where path.hasPrefix("/sessions/"): return self.end(call, String(path.dropFirst(10)))
        case ("DELETE", let path) where path.hasPrefix("/admin/sessions/"):
            return self.end(id: String(path.dropFirst(16))) ? KratosAnswer(status: 204) : .error(404, "not found")
        case ("GET", let path) where path.hasPrefix("/admin/identities/"):
            return self.identity(String(path.dropFirst(18)))
        case ("GET", "/self-service/login/api"): return self.beginNative(call)
        case ("GET", "/self-service/login/browser"): return self.beginBrowser(call)
        case ("GET", "/self-service/login/flows"): return self.flow(call)
        case ("POST", "/self-service/login"): return self.submit(call)
        case ("GET", let path) where path.hasPrefix("/self-service/methods/oidc/callback/"): return self.comeBack(call)
        case ("DELETE", "/self-service/logout/api"): return self.logoutNative(call)
        case ("GET", "/self-service/logout/browser"): return self.beginLogout(call)
        case ("GET", "/self-service/logout"): return self.logout(call)
        case ("GET", "/.well-known/ory/webauthn.js"):
            return KratosAnswer(status: 200, fields: [("Content-Type", "text/javascript")], body: "// webauthn\n")
        case ("GET", "/schemas"): return .json(200, [["id": "default", "schema": ["type": "object"]]])
        default: return .error(404, "there is no such page")
        }
    }

    // MARK: Sessions

    /// The session of a call, in Kratos's order: the field, the cookie, Bearer.
    func session(of call: KratosCall) -> Session? {
        if let token = call.field("x-session-token") { return self.live { $0.token == token } }
        if let cookie = call.cookie("ory_kratos_session"), cookie.hasPrefix("MTc") {
            return self.live { $0.has(cookie) }
        }
        let parts = (call.field("authorization") ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return self.live { $0.token == parts[1] }
    }

    func live(_ isIt: (Session) -> Bool) -> Session? {
        self.sessions.first {
            isIt($0) && $0.isActive && $0.issuedAt.addingTimeInterval(self.lifespan) > Date()
                && !self.disabled.contains($0.email)
        }
    }

    /// The identity with this id, as the admin API shows it.
    private func identity(_ id: String) -> KratosAnswer {
        guard let session = self.sessions.first(where: { $0.identityID == id }) else {
            return .error(404, "Unable to locate the resource")
        }
        return .json(200, self.identity(of: session))
    }

    private func whoami(_ call: KratosCall) -> KratosAnswer {
        guard let session = self.session(of: call) else {
            return .error(
                401,
                "No valid session credentials found in the request.",
                message: "The request could not be authorized"
            )
        }
        guard session.aal >= self.requiredAAL else {
            let page = "\(self.publicURL)/self-service/login/browser?aal=aal2"
            return .error(
                403,
                "An active session was found but it does not fulfill the requested Authenticator Assurance Level.",
                id: "session_aal2_required",
                message: "Session does not fulfill the requested Authenticator Assurance Level",
                beside: ["redirect_browser_to": .string(page)]
            )
        }
        var document = self.document(of: session)
        var fields = [(name: "X-Kratos-Authenticated-Identity-Id", value: session.identityID)]
        if call.query["tokenize_as"] != nil, case .object(var members) = document {
            members["tokenized"] = .string("eyJhbGciOiJFUzI1NiJ9.e30.\(Random.base64URL(8))")
            document = .object(members)
        } else if let cacheFor = self.cacheFor {
            fields.append(("Ory-Session-Cache-For", String(cacheFor)))
        }
        return .json(200, document, fields)
    }

    private func list(_ call: KratosCall) -> KratosAnswer {
        guard let own = self.session(of: call) else { return .error(401, "No valid session cookie found.") }
        let others = self.sessions.filter { $0.isActive && $0.email == own.email && $0.id != own.id }
        // Kratos counts from 1, and takes 0 for 1.
        let page = max(Int(call.query["page"] ?? "") ?? 1, 1)
        let size = min(max(Int(call.query["per_page"] ?? "") ?? 250, 1), 1000)
        let shown = others.dropFirst((page - 1) * size).prefix(size)
        return .json(200, .array(shown.map(self.document)), [("X-Total-Count", String(others.count))])
    }

    private mutating func endOthers(_ call: KratosCall) -> KratosAnswer {
        guard let own = self.session(of: call) else { return .error(401, "No valid session cookie found.") }
        var count: Int64 = 0
        for index in self.sessions.indices
        where self.sessions[index].email == own.email && self.sessions[index].id != own.id
            && self.sessions[index].isActive
        {
            self.sessions[index].isActive = false
            count += 1
        }
        return .json(200, ["count": .integer(count)])
    }

    private mutating func end(_ call: KratosCall, _ id: String) -> KratosAnswer {
        guard let own = self.session(of: call) else { return .error(401, "No valid session cookie found.") }
        let id = id.lowercased()
        guard own.id != id else {
            return .error(400, "cannot revoke current session", message: "cannot revoke current session")
        }
        if self.sessions.contains(where: { $0.id == id && $0.email == own.email }) { _ = self.end(id: id) }
        return KratosAnswer(status: 204)
    }

    private mutating func end(id: String) -> Bool {
        guard let index = self.sessions.firstIndex(where: { $0.id == id }) else { return false }
        self.sessions[index].isActive = false
        return true
    }

    // MARK: Logout

    private mutating func logoutNative(_ call: KratosCall) -> KratosAnswer {
        let token = call.document["session_token"]?.string ?? ""
        let isKnown = { (session: Session) in session.token == token && (session.isActive || !self.forgetsRevoked) }
        guard let index = self.sessions.firstIndex(where: isKnown) else {
            return .error(
                403,
                "The provided Ory Session Token could not be found, is invalid, or otherwise malformed.",
                message: "The requested action was forbidden"
            )
        }
        self.sessions[index].isActive = false
        return KratosAnswer(status: 204)
    }

    private mutating func beginLogout(_ call: KratosCall) -> KratosAnswer {
        guard let session = self.session(of: call) else {
            return .error(401, "No active session was found in this request.")
        }
        let token = "ory_lo_" + Self.letters(32)
        self.logoutTokens[token] = session.id
        let url = "\(self.publicURL)/self-service/logout?token=\(token)"
        return .json(200, ["logout_token": .string(token), "logout_url": .string(url)])
    }

    private mutating func logout(_ call: KratosCall) -> KratosAnswer {
        // A browser gets a redirect to the page of errors in place of each of these.
        func refusal(_ status: Int, _ reason: String) -> KratosAnswer {
            call.isJSON ? .error(status, reason) : .redirect(to: "\(self.publicURL)/ui/error?id=\(UUID().uuidString)")
        }
        guard let token = call.query["token"], !token.isEmpty else {
            return refusal(400, "Please include a token in the URL query.")
        }
        guard let session = self.session(of: call) else { return refusal(401, "No active session was found.") }
        guard self.logoutTokens[token] == session.id else {
            return refusal(403, "Unable to log out because the logout token does not match the session cookie.")
        }
        _ = self.end(id: session.id)
        let cleared = (name: "Set-Cookie", value: "ory_kratos_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax")
        return call.isJSON
            ? KratosAnswer(status: 204, fields: [cleared]) : .redirect(to: self.publicURL + "/", [cleared])
    }
}
