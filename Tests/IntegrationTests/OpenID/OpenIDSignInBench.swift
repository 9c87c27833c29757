import GatewayBench
import OpenIDBench
import Testing

/// A gateway that signs users in at a scripted OpenID provider, and an app.
struct OpenIDSignInBench {
    let provider: OpenIDProvider
    let gateway: Gateway
    let app: FakeUpstream

    static let routes = """
        routes:
          - path: /**
          - path: /strong/**
            require: {aal: aal2}
          - path: /fresh/**
            require: {max_age: 600s}
        """

    /// The settings of `provider.oidc`, with a level that a sign-in can reach.
    static let levels = "claims: {acr: {mfa: aal2}}"

    /// Runs `body` with a provider, an app and a gateway between them; all are stopped afterwards.
    ///
    /// - Parameters:
    ///   - more: Lines of `provider.oidc`.
    ///   - routes: The top-level keys `routes` or `hosts`.
    static func with(
        _ script: OpenIDScript = OpenIDScript(),
        _ more: String = Self.levels,
        routes: String = Self.routes,
        isUp: Bool = true,
        _ body: (OpenIDSignInBench) throws -> Void
    ) throws {
        let provider = try OpenIDProvider(script, isUp: isUp)
        defer { provider.stop() }
        let app = try FakeUpstream()
        defer { app.stop() }
        // A route requires a level, so it must be one that a sign-in can reach.
        let more = more.contains("claims:") ? more : Self.levels + "\n" + more
        let settings = """
            public_url: \(Request.origin)
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            session: {cookie: sallyport}
            \(routes)
            provider:
              oidc:
                issuer: \(provider.issuer)
                client_id: gateway
                client_secret_file: client-secret
                \(more.split(separator: "\n").joined(separator: "\n    "))
            drain: {delay: 0s, timeout: 100ms}

            """
        let secret = script.clients[0].secret ?? ""
        try Gateway.with(settings, files: ["client-secret": secret]) { gateway in
            if isUp { #expect(eventually { (try? gateway.admin("/readyz").status) == 200 }) }
            try body(OpenIDSignInBench(provider: provider, gateway: gateway, app: app))
        }
    }
}

extension OpenIDSignInBench {
    /// Sends a logout token to the gateway.
    func post(_ token: String) throws -> Answer {
        let type = "Content-Type: application/x-www-form-urlencoded"
        return try self.gateway.request(
            Request.post("/.sallyport/backchannel-logout", [type], body: "logout_token=\(token)")
        )
    }

    /// Loads the callback, and sends a logout token while the provider holds its tokens back.
    func comeBack(_ browser: OpenIDBrowser, _ callback: String, beside logout: String) throws -> Answer {
        self.provider.hold(.token)
        defer { self.provider.heal(.token) }
        let wire = try self.gateway.connect()
        wire.send(browser.request(callback))
        #expect(eventually { self.provider.waiting(at: .token) == 1 })
        #expect(try self.post(logout).status == 200)
        self.provider.heal(.token)
        return try wire.answer(seconds: 30)
    }
}

/// A browser with one cookie jar, which follows redirects to the provider and back.
struct OpenIDBrowser {
    static let navigation = ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Accept: text/html"]

    let bench: OpenIDSignInBench
    private(set) var jar: [String: String] = [:]
    private let authority: String

    init(_ bench: OpenIDSignInBench, on authority: String = Request.host) {
        self.bench = bench
        self.authority = authority
    }

    /// The request with which it loads a path of the gateway.
    func request(_ target: String, _ fields: [String] = Self.navigation, method: String = "GET") -> String {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: \(self.authority)"] + fields
        if !self.jar.isEmpty {
            lines.append("Cookie: " + self.jar.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "; "))
        }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// Loads a path of the gateway, without following a redirect.
    mutating func load(_ target: String, _ fields: [String] = Self.navigation, method: String = "GET") throws -> Answer
    {
        let answer = try self.bench.gateway.request(self.request(target, fields, method: method))
        for cookie in answer.values("set-cookie") {
            let pair = cookie.prefix { $0 != ";" }
            let name = String(pair.prefix { $0 != "=" })
            self.jar[name] = cookie.contains("Max-Age=0") ? nil : String(pair.dropFirst(name.count + 1))
        }
        return answer
    }

    /// Follows redirects until a page, or until so many have been followed.
    mutating func follow(_ answer: Answer, most: Int = 10) throws -> Answer {
        var answer = answer
        for _ in 0..<most {
            guard answer.status == 303 || answer.status == 302, let location = answer.value("location") else { break }
            answer = try self.load(try self.target(of: location))
        }
        return answer
    }

    /// The target on the gateway to which a `Location` leads, by way of the provider.
    func target(of location: String) throws -> String {
        if location.hasPrefix("/") { return location }
        if location.hasPrefix("http://\(self.authority)") {
            return String(location.dropFirst(7 + self.authority.count))
        }
        guard let back = self.bench.provider.follow(location) else { throw BenchFailure("no way back: \(location)") }
        return try self.target(of: back)
    }

    /// Loads a page and follows all redirects.
    mutating func open(_ target: String) throws -> Answer { try self.follow(try self.load(target)) }

    /// Loads the sign-in page and returns the target of the callback, which is not loaded.
    mutating func callback(_ query: String = "return_to=/") throws -> String {
        let answer = try self.load("/.sallyport/login?\(query)")
        guard let location = answer.value("location") else { throw BenchFailure("\(answer.lines) \(answer.text)") }
        return try self.target(of: location)
    }

    /// Loses the session cookie and no other.
    mutating func loseSession() {
        self.jar["sallyport"] = nil
    }

    var session: String? { self.jar["sallyport"] }
}
