import Calls
import Cryptography
import JOSE
import Providers
import Settings
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// An OpenID provider with a scripted issuer: what a test does not change is a sign-in that succeeds.
final class OpenIDProviderBench: Sendable {
    static let issuer = "https://idp.example.com/realms/main"
    static let callback = "https://app.example.com/.sallyport/callback"
    static let clientID = "gateway"
    static let subject = "user-1"
    static let metadataURL = issuer + "/.well-known/openid-configuration"
    static let authorizationURL = issuer + "/authorize"
    static let tokenURL = issuer + "/token"
    static let userinfoURL = issuer + "/userinfo"
    static let keysURL = issuer + "/keys"
    static let revocationURL = issuer + "/revoke"
    static let endSessionURL = issuer + "/logout"

    let key: SigningKey
    let transport = ScriptedTransport()
    let clock = MovableClock()
    let provider: OpenIDProvider
    private let noted: NotedWords

    /// Why sign-ins and renewals went on without userinfo, in order.
    var notes: [String] { self.noted.all }

    init(
        _ algorithm: JWSAlgorithm = .es256,
        metadata: [String: JSONValue] = [:],
        change: (inout OpenIDSettings) -> Void = { _ in }
    ) throws {
        self.key = SigningKey.generated(algorithm)
        var settings = OpenIDSettings(
            issuer: Self.issuer,
            client: ProviderClientSettings(id: Self.clientID, secret: Secret("client-secret"))
        )
        settings.claims.traits = [ClaimSettings.Trait(name: "email", path: ["email"])]
        change(&settings)
        let noted = NotedWords()
        self.noted = noted
        self.provider = try OpenIDProvider(
            settings,
            transport: self.transport,
            clock: self.clock.clock,
            noteUserInfo: { noted.add($0) }
        )
        self.transport.on(Self.metadataURL, .json(Self.metadata(metadata)))
        self.transport.on(Self.keysURL, .json(JWKSet(keys: [self.key.publicKey]).value))
        self.transport.on(Self.userinfoURL, CallAnswer(status: 500))
        self.transport.on(Self.revocationURL, CallAnswer(status: 200))
    }

    /// The issuer's metadata, with changed members; `.null` removes one.
    static func metadata(_ changes: [String: JSONValue] = [:]) -> JSONValue {
        var members: [String: JSONValue] = [
            "issuer": .string(Self.issuer), "authorization_endpoint": .string(Self.authorizationURL),
            "token_endpoint": .string(Self.tokenURL), "userinfo_endpoint": .string(Self.userinfoURL),
            "jwks_uri": .string(Self.keysURL), "revocation_endpoint": .string(Self.revocationURL),
            "end_session_endpoint": .string(Self.endSessionURL),
        ]
        for (name, value) in changes { members[name] = value == .null ? nil : value }
        return .object(members)
    }

    /// The claims of an id_token that is good now, with changes; `.null` removes one.
    func claims(nonce: String?, _ changes: [String: JSONValue] = [:]) -> JSONValue {
        let now = self.clock.now.seconds
        var members: [String: JSONValue] = [
            "iss": .string(Self.issuer), "sub": .string(Self.subject), "aud": .string(Self.clientID),
            "iat": .integer(now), "exp": .integer(now + 300), "email": "jane@example.com", "sid": "s-1",
        ]
        members["nonce"] = nonce.map(JSONValue.string)
        for (name, value) in changes { members[name] = value == .null ? nil : value }
        return .object(members)
    }

    /// An id_token with these claims.
    func idToken(_ claims: JSONValue, by key: SigningKey? = nil, type: String? = nil) -> String {
        let header = type.map { [("typ", JSONValue.string($0))] } ?? []
        return String(decoding: (key ?? self.key).sign(JSONText.encode(claims), header: header), as: UTF8.self)
    }

    /// A token endpoint's answer, with changed members; `.null` removes one.
    static func tokens(idToken: String?, _ changes: [String: JSONValue] = [:]) -> JSONValue {
        var members: [String: JSONValue] = [
            "access_token": "access-1", "token_type": "Bearer", "expires_in": 600, "refresh_token": "refresh-1",
        ]
        members["id_token"] = idToken.map(JSONValue.string)
        for (name, value) in changes { members[name] = value == .null ? nil : value }
        return .object(members)
    }

    // MARK: A sign-in

    /// A sign-in that has begun.
    struct Begun {
        let url: String
        let state: PendingSignIn

        /// The parameters of the authorization request.
        var parameters: [String: String] {
            let query = self.url.split(separator: "?", maxSplits: 1).last ?? ""
            return Dictionary(
                FormText.strictPairs(query.utf8) ?? [],
                uniquingKeysWith: { first, _ in "twice: \(first)" }
            )
        }

        /// What the browser brings back.
        func callback(_ changes: [String: String?] = [:]) -> [(name: String, value: String)] {
            var parameters: [String: String] = ["state": self.state.id, "code": "code-1"]
            for (name, value) in changes { parameters[name] = value }
            return parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }

    func begin(_ wish: BrowserSignIn = BrowserSignIn(callback: OpenIDProviderBench.callback)) async throws -> Begun {
        let beginning = try await self.provider.begin(wish)
        return Begun(url: beginning.url, state: beginning.pending)
    }

    /// Signs in, with changes to the claims of the id_token and to the token endpoint's answer.
    func signIn(
        _ wish: BrowserSignIn = BrowserSignIn(callback: OpenIDProviderBench.callback),
        claims: [String: JSONValue] = [:],
        tokens: [String: JSONValue] = [:],
        by key: SigningKey? = nil,
        type: String? = nil
    ) async throws -> Completion {
        let begun = try await self.begin(wish)
        let token = self.idToken(self.claims(nonce: begun.parameters["nonce"], claims), by: key, type: type)
        self.transport.on(Self.tokenURL, .json(Self.tokens(idToken: token, tokens)))
        let completion = await self.provider.completion(begun.callback(), state: begun.state)
        return completion.judged(by: self.provider.demand(of: wish), at: self.clock.now)
    }
}

/// Words that were told, in order.
final class NotedWords: Sendable {
    private let words = Mutex<[String]>([])

    var all: [String] { self.words.withLock { $0 } }

    func add(_ text: String) { self.words.withLock { $0.append(text) } }
}

struct BenchFailure: Error, CustomStringConvertible {
    let description: String
}

/// How a sign-in ended.
typealias Completion = Result<ProvenUser, NotDone>

extension BrowserProvider {
    func completion(_ parameters: [(name: String, value: String)], state: PendingSignIn) async -> Completion {
        await Completion(try await self.complete(state, parameters))
    }
}

extension Completion {
    /// What becomes of a sign-in that began now and had to reach this.
    func judged(by demand: SignInDemand, at now: UnixTime) -> Completion {
        guard let user = self.user else { return self }
        let unmet = demand.unmet(
            level: user.aal,
            authenticatedAt: user.authenticatedAt == Authentication.unknownTime ? nil : user.authenticatedAt,
            begunAt: now,
            now: now
        )
        return unmet.map { .refused(.signInInsufficient, detail: $0) } ?? self
    }

    var user: Authentication? { self.value?.authentication }
    var evidence: ProviderEvidence? { self.value?.evidence }
}
