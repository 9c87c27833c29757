import AddressIntelligence
import Clients
import EndpointBench
import Endpoints
import Handoff
import NIOCore
import NIOPosix
import Sessions
import Settings
import StoreBench
import Testing
import TokenEndpoints
import Vocabulary

/// The token endpoint on a memory store, with a signed-in native app.
final class TokenWorld: Sendable {
    static let now = UnixTime(seconds: 1_800_000_000)
    static let exchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    static let sessionTokenType = "urn:sallyport:params:oauth:token-type:session_token"

    let authority = TokenAuthority(secret: Secret("a secret of the tests, 32 bytes or more"))
    let store: ScriptedStore
    let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let endpoint: TokenEndpoint

    init() {
        let clock = Clock { Self.now }
        self.store = ScriptedStore(clock: clock)
        var native = ClientSettings(clientID: "native-app")
        native.canCreateTransferToken = true
        var server = ClientSettings(clientID: "server app")
        server.canCreateTransferToken = true
        server.clientSecrets = [Secret("s3cr%t+:ü")]
        self.endpoint = TokenEndpoint(
            clients: ClientRegistry([native, server, ClientSettings(clientID: "plain")]),
            hosts: [
                PublicURL(isHTTPS: true, host: "auth.example.com", port: nil),
                PublicURL(isHTTPS: true, host: "app.example.com", port: 8443),
                PublicURL(isHTTPS: false, host: "[::1]", port: nil),
            ].enumerated().map { HostSettings(publicURL: $1, endpoints: $0 == 0, routes: []) },
            mint: HandoffMint(
                store: self.store,
                authority: self.authority,
                limiter: LocalRateLimiter(clock: clock),
                settings: HandoffSettings(),
                asn: nil,
                journal: HandoffJournal { _ in true },
                clock: clock
            ),
            loops: MultiThreadedEventLoopGroup.singleton
        )
    }

    /// Signs a user in and returns the session token.
    func signIn(
        kind: Session.Kind = .native,
        origin: Session.Origin = .native,
        client: String? = nil
    ) async throws -> String {
        let lineage = self.authority.newLineage()
        let (token, key) = self.authority.make(.session, in: lineage)
        let session = Session(
            id: self.authority.newSessionID(),
            kind: kind,
            origin: origin,
            lineage: lineage,
            identity: Identity(id: "alice", traits: [:]),
            clientID: client,
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: Self.now,
            issuedAt: Self.now,
            expiresAt: Self.now.advanced(by: .seconds(3600)),
            idleLifetime: .seconds(3600)
        )
        try await self.store.create(NewSession(key: key, session: session), on: self.loop).get()
        return String(decoding: token.bytes, as: UTF8.self)
    }

    /// The parameters of a successful exchange.
    func parameters(_ token: String) -> [String: String] {
        [
            "grant_type": Self.exchange,
            "client_id": "native-app",
            "subject_token": token,
            "subject_token_type": Self.sessionTokenType,
            "audience": "urn:auth.example.com:session_transfer",
        ]
    }

    func post(json parameters: [String: String], authorization: String? = nil) async -> Answer {
        let body = JSONText.encode(.object(parameters.mapValues(JSONValue.string)))
        return await self.post(body, type: "application/json", authorization: authorization)
    }

    func post(form parameters: [String: String], authorization: String? = nil) async -> Answer {
        let pairs = parameters.map { "\(Self.escaped($0.key))=\(Self.escaped($0.value))" }
        return await self.post(
            Array(pairs.joined(separator: "&").utf8),
            type: "application/x-www-form-urlencoded",
            authorization: authorization
        )
    }

    func post(_ body: [UInt8], type: String?, authorization: String? = nil) async -> Answer {
        var fields: [(name: String, value: String)] = [("user-agent", "App/1.0")]
        if let type { fields.append(("content-type", type)) }
        if let authorization { fields.append(("authorization", authorization)) }
        return await self.post(body, fields: fields)
    }

    func post(_ body: [UInt8], fields: [(name: String, value: String)]) async -> Answer {
        Answer(
            response: await self.endpoint.endpoint.answer(
                EndpointRequest(
                    method: "POST",
                    path: "/oauth/token",
                    query: [],
                    fields: fields,
                    credentials: presented(fields),
                    body: body,
                    address: IPAddress(v4: 0x0180_0001),
                    origin: "https://auth.example.com",
                    authority: "auth.example.com",
                    isSecure: true,
                    requestID: "req"
                )
            )
        )
    }

    /// Escapes every byte except letters and digits, as a careful client does.
    static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            guard scalar.isASCII, scalar.properties.isAlphabetic || scalar.properties.numericType != nil else {
                return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
            return String(Character(scalar))
        }.joined()
    }
}

/// An answer of the endpoint, parsed as a client does.
struct Answer: Sendable {
    var response: EndpointResponse

    var status: Int { self.response.status }
    var body: JSONValue { JSONText.decode(self.response.body) ?? .null }
    var error: String? { self.body["error"]?.string }
    var description: String? { self.body["error_description"]?.string }
    var reason: Reason? { self.response.reason }

    func field(_ name: String) -> String? {
        self.response.fields.first { $0.name == name }?.value
    }
}
