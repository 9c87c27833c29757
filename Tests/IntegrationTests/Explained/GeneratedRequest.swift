import GatewayBench

/// Numbers that depend only on the seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// A request that can be sent to a gateway and given to `explain`.
struct GeneratedRequest: CustomStringConvertible {
    /// The user whose live session it presents, and how.
    enum Live: Equatable {
        case none
        case cookie(User)
        case token(User)
    }

    var method = "GET"
    var host = Request.host
    var target = "/x"
    var fields: [String] = []
    var cookies: [String] = []
    var live = Live.none
    /// nil: no body; negative: chunked.
    var bodyLength: Int?

    var description: String { "\(self.method) \(self.host)\(self.target) \(self.fields) \(self.cookies) \(self.live)" }

    init(_ generator: inout SeededGenerator) {
        self.method = Self.methods.randomElement(using: &generator) ?? "GET"
        if Self.isRare(&generator) { self.host = Self.hosts.randomElement(using: &generator) ?? Request.host }
        self.target = Self.paths.randomElement(using: &generator) ?? "/x"
        var query = Self.isRare(&generator) ? ["a=1", "b=%2F"] : []
        if Self.isRare(&generator) { query.append("session_transfer_token=spt_junk") }
        if query.count > 1, Self.isRare(&generator) { query.append("session%5Ftransfer_token=other") }
        query.shuffle(using: &generator)
        if !query.isEmpty { self.target += "?" + query.joined(separator: "&") }
        self.addCredentials(&generator)
        for group in Self.groups where Bool.random(using: &generator) {
            if let field = group.randomElement(using: &generator) { self.fields.append(field) }
        }
        if Self.isRare(&generator), let field = Self.odd.randomElement(using: &generator) { self.fields.append(field) }
        if ["POST", "PUT", "PATCH"].contains(self.method) || Self.isRare(&generator) {
            self.bodyLength = [0, 5, 11, 2000, -5].randomElement(using: &generator)
        }
        if self.method == "OPTIONS", Bool.random(using: &generator) {
            self.target = "/hook"
            self.fields.removeAll { $0.hasPrefix("Origin:") }
            let origin = Bool.random(using: &generator) ? "https://static.example.com" : "https://evil.example"
            self.fields += ["Access-Control-Request-Method: POST", "Origin: \(origin)"]
        }
        if let bodyLength {
            self.fields.append(bodyLength < 0 ? "Transfer-Encoding: chunked" : "Content-Length: \(bodyLength)")
        }
    }

    private static func isRare(_ generator: inout SeededGenerator) -> Bool {
        Int.random(in: 0..<6, using: &generator) == 0
    }

    private mutating func addCredentials(_ generator: inout SeededGenerator) {
        let user = [User.ada, .grace, .mary].randomElement(using: &generator) ?? .ada
        switch Int.random(in: 0..<10, using: &generator) {
        case 0...4: self.live = .cookie(user)
        case 5...6: self.live = .token(user)
        case 7:
            if let field = Self.explicit.randomElement(using: &generator) { self.fields.append(field) }
        case 8: self.cookies.append("sallyport=\(Self.unknown)")
        default: break
        }
        if Int.random(in: 0..<12, using: &generator) == 0,
            let field = Self.explicit.randomElement(using: &generator)
        {
            self.fields.append(field)
        }
        for cookie in Self.otherCookies where Self.isRare(&generator) { self.cookies.append(cookie) }
    }

    private static let methods = [
        "GET", "GET", "GET", "GET", "GET", "GET", "GET", "GET", "HEAD", "POST", "POST", "PUT", "DELETE", "OPTIONS",
        "PATCH", "PROPFIND", "BREW",
        "TRACE",
    ]
    private static let hosts = [
        "app.example.com:80", "APP.example.com", "app.example.com.", "app.example.com:8080", "other.example.com", "",
        "app.example.com:x",
    ]
    private static let paths = [
        "/x", "/x", "/x", "/public/a", "/optional/a", "/optional/a", "/admin/a", "/admin/a", "/strong/a", "/hook",
        "/hook",
        "/small/a", "/bound/a", "/bound/a", "/bearer/a", "/login/a", "/trusting/a", "/own/a", "/", "/%61dmin/a",
        "/Admin/a",
        "/public//a", "/public/%2e%2e/admin/a", "/x%2Fy", "/x;y=1", "/a%00", "/x\\y", "/.sallyport/none", "/admin",
        "/public/%C3%A9",
    ]
    private static let explicit = [
        "Authorization: Bearer junk", "Authorization: Bearer \(unknown)", "Authorization: DPoP junk",
        "Authorization: Basic anVuazpqdW5r", "X-Session-Token: junk", "X-Session-Token: \(unknown)",
        "Authorization: Bearer",
    ]
    private static let otherCookies = [
        "theme=dark", "session_transfer_token=spt_junk", "auth0_session_transfer_token=other", "sallyport=junk",
        "sallyport-attempt=junk", "sallyport-handled=junk", "sallyport-attempt=junk.spt_moved",
    ]
    /// At most one field of each group.
    private static let groups = [
        [
            "Sec-Fetch-Site: none", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: same-site",
            "Sec-Fetch-Site: cross-site",
        ],
        ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: cors", "Sec-Fetch-Mode: no-cors"],
        ["Sec-Fetch-Dest: document", "Sec-Fetch-Dest: document", "Sec-Fetch-Dest: empty", "Sec-Fetch-Dest: iframe"],
        ["Accept: text/html", "Accept: */*", "Accept: application/json", "Accept: text/html, application/json"],
        [
            "Origin: \(Request.origin)", "Origin: https://static.example.com", "Origin: https://evil.example",
            "Origin: null",
        ],
    ]
    private static let odd = [
        "Access-Control-Request-Method: POST", "Access-Control-Request-Method: PUT", "Sec-Purpose: prefetch",
        "X-Auth-Subject: root", "X_Auth_Subject: root", "X-Forwarded-For: 203.0.113.9", "X-Real-IP: 203.0.113.9",
        "Forwarded: for=203.0.113.9", "X-Request-Id: mine", "X-HTTP-Method-Override: DELETE",
        "Connection: X-Auth-Subject",
        "Referer: \(Request.origin)/form?session_transfer_token=spt_junk", "TE: trailers", "Upgrade: websocket",
        "Expect: 200-ok", "DPoP: proof", "X-Kept: 1",
    ]
    /// A token with the form of a session token that belongs to no session.
    private static let unknown = "sps_" + String(repeating: "A", count: 55)
}
