import Cryptography
import GatewayBench
import Vocabulary

extension OpenIDTurn {
    /// The authorization endpoint (OpenID Connect Core 3.1.2): signs in the user at once.
    mutating func authorize(_ call: OpenIDCall) -> OpenIDAnswer {
        guard let client = self.script.clients.first(where: { $0.id == call["client_id"] }),
            let redirectURI = call["redirect_uri"],
            client.redirectURIs.isEmpty || client.redirectURIs.contains(redirectURI)
        else {
            // Never redirects to a URI that is not the client's (RFC 9700 4.11).
            return OpenIDAnswer(400, body: Array("unknown client or redirect_uri".utf8))
        }
        var answer: [(String, String)] = []
        if let error = self.authorizationError(call) {
            answer.append(("error", error))
        } else {
            answer.append(("code", self.code(for: client, redirectURI, call)))
        }
        if let state = call["state"] { answer.append(("state", state)) }
        if self.script.namesIssuer { answer.append(("iss", self.issuer)) }
        if call["response_mode"] == "form_post" { return self.posting(answer, to: redirectURI) }
        let query = answer.map { "\($0.0)=\(PercentCoding.encoded($0.1))" }.joined(separator: "&")
        return .redirect(to: redirectURI + (redirectURI.contains("?") ? "&" : "?") + query)
    }

    /// A page that posts the answer by itself (OAuth 2.0 Form Post Response Mode 1.0).
    private func posting(_ answer: [(String, String)], to redirectURI: String) -> OpenIDAnswer {
        let user = self.script.postedUser.map { [("user", $0)] } ?? []
        let inputs = (answer + user).map { name, value in
            let escaped = value.replacing("&", with: "&amp;").replacing("\"", with: "&quot;")
            return "<input type=\"hidden\" name=\"\(name)\" value=\"\(escaped)\">"
        }
        let page = """
            <!DOCTYPE html><title>The provider</title>
            <form method="post" action="\(redirectURI)">\(inputs.joined())</form>
            <script>document.forms[0].submit()</script>
            """
        return OpenIDAnswer(200, fields: [("content-type", "text/html; charset=utf-8")], body: Array(page.utf8))
    }

    private func authorizationError(_ call: OpenIDCall) -> String? {
        if let error = self.script.authorizationError { return error }
        if call["response_type"] != "code" { return "unsupported_response_type" }
        let scopes = (call["scope"] ?? "").split(separator: " ")
        if self.script.isOpenID, !scopes.contains("openid") { return "invalid_scope" }
        if self.script.requiresPKCE || call["code_challenge"] != nil {
            guard call["code_challenge"]?.utf8.count == 43, call["code_challenge_method"] == "S256" else {
                return "invalid_request"
            }
        }
        if call["prompt"] == "none", self.needsUser(call) { return "login_required" }
        return nil
    }

    /// The user whom a call signs in.
    private func user(_ call: OpenIDCall) -> OpenIDScript.User {
        call["login_hint"].flatMap { self.script.users[$0] } ?? self.script.user
    }

    /// Whether the session does not do, and the user must authenticate.
    private func needsUser(_ call: OpenIDCall) -> Bool {
        guard let session = self.state.session, session.subject == self.user(call).subject else { return true }
        if (call["prompt"] ?? "").split(separator: " ").contains("login") { return true }
        guard let maxAge = call["max_age"].flatMap({ Int($0) }) else { return false }
        return self.now.since(session.authenticatedAt) > .seconds(maxAge)
    }

    private mutating func code(
        for client: OpenIDScript.Client,
        _ redirectURI: String,
        _ call: OpenIDCall
    ) -> String {
        let user = self.user(call)
        if self.needsUser(call) {
            let former = self.state.session.flatMap { $0.subject == user.subject ? $0.id : nil }
            let kept = former ?? (self.script.keepsSessionID ? self.state.lastSessionID : nil)
            self.state.session = OpenIDState.Session(
                id: kept ?? Random.base64URL(12),
                subject: user.subject,
                authenticatedAt: self.now
            )
        }
        let asked = (call["acr_values"] ?? "").split(separator: " ").map(String.init)
        self.state.grants.append(
            OpenIDState.Grant(
                client: client.id,
                user: user,
                scopes: (call["scope"] ?? "").split(separator: " ").map(String.init),
                sessionID: self.state.session?.id ?? "",
                authenticatedAt: self.state.session?.authenticatedAt ?? self.now,
                level: asked.first { self.script.levels.contains($0) } ?? self.script.level,
                methods: self.script.methods
            )
        )
        let code = Random.base64URL(30)
        Secrets.shared.note(code)
        self.state.codes[code] = OpenIDState.Code(
            grant: self.state.grants.count - 1,
            nonce: call["nonce"],
            redirectURI: redirectURI,
            challenge: call["code_challenge"],
            expiresAt: self.now.advanced(by: .seconds(60))
        )
        return code
    }

    /// The end_session endpoint (OpenID Connect RP-Initiated Logout 1.0).
    mutating func logout(_ call: OpenIDCall) -> OpenIDAnswer {
        self.state.endSession()
        guard let uri = call["post_logout_redirect_uri"] else {
            return OpenIDAnswer(200, body: Array("signed out".utf8))
        }
        let client = self.script.clients.first { client in
            client.id == call["client_id"] || client.id == call["id_token_hint"].flatMap(Self.audience)
        }
        guard let client, client.logoutURIs.isEmpty || client.logoutURIs.contains(uri) else {
            return OpenIDAnswer(400, body: Array("unknown client or post_logout_redirect_uri".utf8))
        }
        let state = call["state"].map { (uri.contains("?") ? "&" : "?") + "state=" + PercentCoding.encoded($0) } ?? ""
        return .redirect(to: uri + state)
    }

    /// `aud` of a token that is not verified.
    private static func audience(of token: String) -> String? {
        let parts = token.split(separator: ".")
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
        return JSONText.decode(payload)?["aud"]?.string
    }
}
