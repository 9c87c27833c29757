import Cryptography
package import JOSE
import Synchronization
package import Vocabulary

/// Google, Apple and Facebook as far as native apps are signed in by them: one double that verifies what it is sent as
/// they do, and remembers what was wrong with it.
package final class SocialNetwork: Sendable {
    /// What the gateway registered, and what else the doubles know of it.
    package struct Registration: Sendable {
        package var googleAudience = "1234-web.apps.googleusercontent.com"
        package var bundleIDs = ["com.example.app"]
        package var teamID = "TEAM000001"
        package var keyID = "KEY0000001"
        /// The key for Sign in with Apple: the gateway has it, and Apple its public part.
        package var appleKey = SigningKey.generated(.es256)
        package var facebookAppID = "1234567890"
        package var facebookSecret = "facebook-app-secret-0123456789"

        package init() {}
    }

    struct State: Sendable {
        var requests: [SocialRequest] = []
        var complaints: [String] = []
        var standing: [SocialEndpoint: SocialFault] = [:]
        var google: [SigningKey]
        var apple: [SigningKey]
        var codes: [String: AppleCode] = [:]
        var tokens: [String: JSONValue] = [:]
    }

    /// The beginning of every URL.
    package let base: String
    package let registration: Registration
    package let clock: Clock
    let state: Mutex<State>

    /// RSA keys take long to make, so that all doubles of a run begin with the same ones.
    private static let keys = (google: SigningKey.generated(.rs256), apple: SigningKey.generated(.rs256))
    /// A key of nobody.
    package static let strangeKey = SigningKey.generated(.rs256)

    package init(
        base: String = "https://social.example.com",
        _ registration: Registration = Registration(),
        clock: Clock
    ) {
        self.base = base
        self.registration = registration
        self.clock = clock
        self.state = Mutex(State(google: [Self.keys.google], apple: [Self.keys.apple]))
    }

    package func url(_ endpoint: SocialEndpoint) -> String { self.base + endpoint.rawValue }

    /// What was wrong with the requests: something that the real ones refuse, or that the gateway must not send.
    package var complaints: [String] { self.state.withLock { $0.complaints } }

    package func requests(of endpoint: SocialEndpoint) -> [SocialRequest] {
        self.state.withLock { $0.requests.filter { $0.endpoint == endpoint } }
    }

    /// Makes an endpoint fail until it is healed (nil).
    package func breakDown(_ endpoint: SocialEndpoint, with fault: SocialFault?) {
        self.state.withLock { $0.standing[endpoint] = fault }
    }

    /// Answers as the server does; nil: there is no answer.
    package func answer(to request: SocialRequest) -> SocialAnswer? {
        let fault = self.state.withLock { state in
            state.requests.append(request)
            return request.endpoint.flatMap { state.standing[$0] }
        }
        switch fault {
        case .silence: return nil
        case .answer(let status, let body): return SocialAnswer(status, Array(body.utf8))
        case nil: break
        }
        switch (request.endpoint, request.method) {
        case (.googleKeys, "GET"): return .keys(self.state.withLock { $0.google })
        case (.appleKeys, "GET"): return .keys(self.state.withLock { $0.apple })
        case (.appleToken, "POST"): return self.redeem(request)
        case (.facebookDebug, "GET"): return self.debug(request)
        default:
            self.complain("\(request.method) is not what this endpoint answers")
            return SocialAnswer(405, [])
        }
    }

    func complain(_ complaint: String) {
        self.state.withLock { $0.complaints.append(complaint) }
    }

    /// Checks that exactly these parameters came, each once.
    func expect(_ names: Set<String>, in request: SocialRequest) {
        let sent = request.parameters.map(\.name)
        if Set(sent) != names || sent.count != names.count {
            self.complain("the parameters are \(sent.sorted())")
        }
    }

    /// A token of these claims. Members of `changes` replace claims; `.null` removes one.
    static func signed(
        _ claims: [String: JSONValue],
        _ changes: [String: JSONValue],
        by key: SigningKey,
        header: [(String, JSONValue)]
    ) -> String {
        var members = claims
        for (name, value) in changes { members[name] = value == .null ? nil : value }
        return String(decoding: key.sign(JSONText.encode(.object(members)), header: header), as: UTF8.self)
    }
}

/// What the doubles answer, by the path.
package enum SocialEndpoint: String, Sendable, CaseIterable {
    case googleKeys = "/google/certs"
    case appleToken = "/apple/auth/token"
    case appleKeys = "/apple/auth/keys"
    case facebookDebug = "/facebook/debug_token"
}

package enum SocialFault: Sendable {
    case answer(Int, String)
    /// The request arrives, and no answer comes.
    case silence
}

/// A request as a double received it.
package struct SocialRequest: Sendable {
    package let method: String
    package let endpoint: SocialEndpoint?
    /// Those of the query and of a form, in order.
    package let parameters: [(name: String, value: String)]

    /// - Parameter target: The path and query, or the whole URL.
    package init(_ method: String, _ target: String, base: String = "", body: [UInt8] = []) {
        self.method = method
        let target = target.hasPrefix(base) ? target.dropFirst(base.utf8.count) : target[...]
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.endpoint = SocialEndpoint(rawValue: String(parts[0]))
        self.parameters = FormText.pairs(parts.count > 1 ? Array(parts[1].utf8) : []) + FormText.pairs(body)
    }

    package subscript(name: String) -> String? { self.parameters.first { $0.name == name }?.value }
}

package struct SocialAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]

    init(_ status: Int, _ body: [UInt8]) {
        self.status = status
        self.body = body
    }

    static func json(_ status: Int, _ value: JSONValue) -> Self { Self(status, JSONText.encode(value)) }

    static func keys(_ keys: [SigningKey]) -> Self { .json(200, JWKSet(keys: keys.map(\.publicKey)).value) }
}
