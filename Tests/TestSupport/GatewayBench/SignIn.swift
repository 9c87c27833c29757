import Foundation

/// A user of the static provider.
package enum User: Sendable {
    case ada, grace, mary

    /// The identifier for the sign-in form.
    package var identifier: String {
        switch self {
        case .ada: "ada@example.com"
        case .grace: "grace@example.com"
        case .mary: "mary"
        }
    }

    /// The subject that apps receive.
    package var id: String {
        switch self {
        case .ada: "user-1815"
        case .grace: "user-1906"
        case .mary: "user-1647"
        }
    }

    /// The hash of the password that Grace and Mary have.
    package static let graceHash =
        "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:_vwxyCGIGT1K80tFLMr2a4k1qcghTqalEziQ193eW_g"

    /// The user's password.
    package var password: String { self == .ada ? "analytical-engine" : "compiler-a0" }
}

extension Gateway {
    /// A new connection to the gateway, through the proxy in front if there is one.
    package func connect(from source: String? = nil) throws -> Wire {
        try Wire(to: self.front ?? self.port, from: source)
    }

    /// Sends one request on a connection of its own.
    package func request(_ text: String, from source: String? = nil, seconds: Double = 5) throws -> Answer {
        try self.connect(from: source).request(text, seconds: seconds)
    }

    /// Sends a `GET` on a connection of its own.
    package func get(_ target: String = "/", _ fields: [String] = [], from source: String? = nil) throws -> Answer {
        try self.request(Request.get(target, fields), from: source)
    }

    /// Signs in as a browser does and returns the value of the session cookie.
    package func browser(_ user: User = .ada, from source: String? = nil) throws -> String {
        try self.browser(user.identifier, user.password, from: source)
    }

    /// The same for any user.
    package func browser(_ identifier: String, _ password: String, from source: String? = nil) throws -> String {
        let answer = try self.request(
            Request.post(
                "/.sallyport/login",
                ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"],
                body: "identifier=\(identifier)&password=\(password)&return_to=/"
            ),
            from: source
        )
        guard answer.status == 303, let token = answer.sessionCookie, !token.isEmpty else {
            throw BenchFailure("no sign-in: \(answer.lines) \(answer.text.prefix(500))")
        }
        return token
    }

    /// Signs in as a native app does and returns the session token.
    ///
    /// - Parameter fields: Additional request fields, e.g. those that a proxy adds about the client.
    package func native(_ user: User = .ada, from source: String? = nil, fields: [String] = []) throws -> String {
        let flow = try self.get("/self-service/login/api", fields, from: source)
        guard let action = flow.text.firstMatch(of: /"action":"https?:\/\/[^\/]*(\/[^"]*)"/) else {
            throw BenchFailure("no flow: \(flow.lines) \(flow.text)")
        }
        let answer = try self.request(
            Request.post(
                String(action.1).replacing(#"\/"#, with: "/"),
                ["Content-Type: application/json"] + fields,
                body: #"{"method":"password","identifier":"\#(user.identifier)","password":"\#(user.password)"}"#
            ),
            from: source
        )
        guard let token = answer.text.firstMatch(of: /"session_token":"([^"]+)"/) else {
            throw BenchFailure("no session token: \(answer.lines) \(answer.text)")
        }
        return String(token.1)
    }

    /// Mints a session-transfer token.
    package func mint(
        _ sessionToken: String,
        client: String = "native",
        audience: String = Request.host,
        from source: String? = nil,
        fields: [String] = []
    ) throws -> String {
        let answer = try self.exchange(sessionToken, client: client, audience: audience, from: source, fields: fields)
        guard let token = answer.text.firstMatch(of: /"access_token":"([^"]+)"/) else {
            throw BenchFailure("no transfer token: \(answer.lines) \(answer.text)")
        }
        return String(token.1)
    }

    /// Asks for a session-transfer token and returns the answer unchanged.
    package func exchange(
        _ sessionToken: String,
        client: String = "native",
        audience: String = Request.host,
        from source: String? = nil,
        fields: [String] = []
    ) throws -> Answer {
        let type =
            sessionToken.hasPrefix("spa_")
            ? "urn:ietf:params:oauth:token-type:access_token" : "urn:sallyport:params:oauth:token-type:session_token"
        let form = [
            "grant_type=urn:ietf:params:oauth:grant-type:token-exchange", "client_id=\(client)",
            "subject_token=\(sessionToken)", "subject_token_type=\(type)",
            "requested_token_type=urn:auth0:params:oauth:token-type:session_transfer_token",
            "audience=urn:\(audience):session_transfer",
        ]
        return try self.request(
            Request.post(
                "/oauth/token",
                ["Content-Type: application/x-www-form-urlencoded"] + fields,
                body: form.joined(separator: "&")
            ),
            from: source
        )
    }

    /// A new transfer token of a new native session.
    package func transferToken(_ user: User = .ada, from source: String? = nil) throws -> String {
        try self.mint(self.native(user, from: source), from: source)
    }

    /// Ends the browser's session.
    package func signOut(_ cookie: String) throws -> Answer {
        try self.request(
            Request.post(
                "/.sallyport/logout",
                [
                    "Cookie: sallyport=\(cookie)", "Origin: \(Request.origin)",
                    "Content-Type: application/x-www-form-urlencoded",
                ],
                body: "return_to=/public/"
            )
        )
    }
}

extension Answer {
    /// The value of the session cookie that the answer sets: empty if it clears the cookie, nil if it does neither.
    package var sessionCookie: String? {
        for line in self.values("set-cookie") where line.hasPrefix("sallyport=") {
            return String(line.dropFirst("sallyport=".count).prefix { $0 != ";" })
        }
        return nil
    }

    /// The names of the cookies that it clears.
    package var clearedCookies: Set<String> {
        Set(
            self.values("set-cookie").filter { $0.contains("Max-Age=0") }
                .map { String($0.prefix { $0 != "=" }) }
        )
    }
}
