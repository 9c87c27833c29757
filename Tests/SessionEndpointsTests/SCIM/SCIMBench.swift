import Cryptography
import EndpointBench
import Endpoints
import NIOPosix
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// The SCIM endpoints of one gateway, with the sign-ins of the provider's users.
struct SCIMBench {
    static let token = "a provider's token"
    static let user = "urn:ietf:params:scim:schemas:core:2.0:User"
    static let provider = "https://id.example.com"
    static let requester = Requester(
        address: WireRequest("GET", "/").address,
        userAgent: nil,
        authority: "app.example.com",
        requestID: "r1"
    )

    let store: ScriptedStore
    let time = MovableClock()
    let records: RecordAccess
    let sessions: SessionService
    let endpoints: [Endpoint]
    let audit = Trail()

    /// What the operators' audit stream received.
    final class Trail: Sendable {
        let events = Mutex<[AuditEvent]>([])

        /// The acts, with the users of those that have one.
        var acts: [String] {
            self.events.withLock { events in
                events.map { event in
                    let act = event.details.first { $0.0 == "act" }?.1 ?? ""
                    return event.subject.map { "\(act) \($0)" } ?? act
                }
            }
        }
    }

    /// - Parameters:
    ///     - trait: The trait that equals `externalId`. `nil` for the provider's id of the user.
    ///     - scopes: The scopes of the token.
    init(trait: String? = nil, scopes: Set<OperatorToken.Scope> = [.scim]) {
        let (time, audit) = (self.time, self.audit)
        self.store = ScriptedStore(
            MemoryStore(maxSessions: 1000, maxMarkers: 1000, clock: time.clock, caches: SessionCaches())
        )
        self.records = RecordAccess(
            store: self.store,
            authority: TokenAuthority(secret: Secret("a secret of the tests")),
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: time.clock
        )
        self.sessions = SessionService(
            records: self.records,
            settings: SessionSettings(),
            devices: DeviceObserver(directory: nil),
            providerSessions: ProviderSessions(records: self.records),
            journal: Ledger().journal
        )
        let match = ProvisioningMatch(realm: .default, provider: Self.provider, trait: trait)
        self.records.blocks.adopt(match)
        var line = Array("okta \(scopes.map(\.rawValue).joined(separator: ",")) ".utf8)
        for byte in SHA256.digest(Array(Self.token.utf8)).bytes { Hexadecimal.append(byte, to: &line) }
        let gate = OperatorGate(
            tokens: { [line] in (try? OperatorToken.all(in: line)) ?? [] },
            audit: { event in
                audit.events.withLock { $0.append(event) }
                return true
            }
        )
        let provisioning = Provisioning(
            users: UserSessions(sessions: self.sessions),
            provisioned: ProvisionedUsers(records: self.records),
            match: match
        )
        self.endpoints = SCIMUsers(provisioning: provisioning, gate: gate).endpoints
    }

    /// An answer of SCIM.
    struct Answer {
        let status: Int
        let fields: [(name: String, value: String)]
        let text: String
        let json: JSONValue?

        var id: String { self.json?["id"]?.string ?? "" }
        var isActive: JSONValue? { self.json?["active"] }
        var scimType: String? { self.json?["scimType"]?.string }
    }

    func ask(
        _ method: String,
        _ path: String,
        query: String = "",
        _ body: String = "",
        token: String = SCIMBench.token
    ) async throws -> Answer {
        let path = "/scim/v2" + path
        let request = WireRequest(
            method,
            path,
            query: query,
            fields: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/scim+json")],
            body: Array(body.utf8)
        )
        let bytes = Array(path.utf8)
        let endpoint = try #require(
            self.endpoints.filter { endpoint in
                endpoint.methods.contains(method) && bytes.withUnsafeBufferPointer(endpoint.pattern.matches)
            }.min { $0.pattern.precedes($1.pattern) },
            "\(path)"
        )
        let answer = await request.answer(of: endpoint)
        let text = String(decoding: answer.body, as: UTF8.self)
        if answer.status != 204 {
            #expect(answer.fields.first { $0.name == "content-type" }?.value == "application/scim+json", "\(text)")
        }
        return Answer(status: answer.status, fields: answer.fields, text: text, json: JSONText.decode(answer.body))
    }

    /// Creates a user as Okta does, and returns its id.
    func create(_ externalID: String, _ userName: String = "ada@example.com", active: Bool = true) async throws
        -> String
    {
        let answer = try await self.ask("POST", "/Users", Self.okta(externalID, userName, active: active))
        #expect(answer.status == 201, "\(answer.text)")
        return answer.id
    }

    static func okta(_ externalID: String, _ userName: String, active: Bool = true) -> String {
        """
        {"schemas":["\(Self.user)"],"userName":"\(userName)","name":{"givenName":"Ada","familyName":"L"},
        "emails":[{"primary":true,"value":"\(userName)","type":"work"}],"displayName":"Ada L","locale":"en-US",
        "externalId":"\(externalID)","groups":[],"active":\(active)}
        """
    }

    static func patch(_ operations: String) -> String {
        #"{"schemas":["urn:ietf:params:scim:api:messages:2.0:PatchOp"],"Operations":[\#(operations)]}"#
    }

    // MARK: Sign-ins

    /// Signs the user in with the provider.
    func signIn(_ id: String, oid: String? = nil) async throws(NotDone) -> Secret {
        let identity = Identity(id: id, traits: oid.map { ["oid": .string($0)] } ?? [:])
        return try await self.sessions.begin(
            Authentication(identity: identity, aal: .aal1, methods: ["password"]),
            SessionTerms(.native),
            evidence: ProviderEvidence(provider: Self.provider),
            for: Self.requester
        ).token
    }

    /// Why the user cannot sign in; nil if the user can.
    func refusal(_ id: String, oid: String? = nil) async -> Reason? {
        do throws(NotDone) {
            _ = try await self.signIn(id, oid: oid)
            return nil
        } catch {
            return error.reason
        }
    }

    /// Whether the session of this token is live.
    func isLive(_ token: Secret) async -> Bool { (try? await self.sessions.native(token)) != nil }
}
