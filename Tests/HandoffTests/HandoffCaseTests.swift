import AddressIntelligence
import Cryptography
import Sessions
import Settings
import SignOn
import Testing
import Vocabulary

@Suite("Judging a session-transfer token")
struct HandoffCaseTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var change: @Sendable (inout HandoffCase) -> Void
        /// nil: accepted.
        var refusal: HandoffVerdict?
        var passedInDryRun: Reason?

        init(
            _ name: String,
            _ refusal: HandoffVerdict?,
            passedInDryRun: Reason? = nil,
            _ change: @escaping @Sendable (inout HandoffCase) -> Void
        ) {
            (self.name, self.refusal, self.passedInDryRun, self.change) = (name, refusal, passedInDryRun, change)
        }

        var testDescription: String { self.name }
    }

    static let elsewhere = DeviceFacts(address: IPAddress(v4: 0xCB00_7109), asn: 64_500, userAgent: nil)

    static let rows: [Row] = [
        Row("a fresh token of the same device", nil) { _ in },
        Row("the last millisecond", nil) { $0.now = $0.token.expiresAt.advanced(by: .milliseconds(-1)) },
        Row("too late", .refuse(.handoffExpired, burns: false, endsExisting: false)) { $0.now = $0.token.expiresAt },
        Row("the native session has ended", .refuse(.sessionRevoked, burns: false, endsExisting: false)) {
            $0.parent = nil
        },
        Row("the native session has expired", .refuse(.sessionRevoked, burns: false, endsExisting: false)) {
            $0.parent?.expiresAt = $0.now
        },
        Row("a token for this host's audience", nil) { $0.token.host = "app.example.com" },
        Row("a token for another host's audience", .refuse(.handoffOtherHost, burns: true, endsExisting: false)) {
            $0.token.host = "other.example.com"
        },
        Row(
            "the session of another provider",
            .refuse(.sessionOtherProvider, burns: true, endsExisting: false)
        ) { $0.parent?.identity.realm = Realm("staff") },
        Row("on a host of another provider", .refuse(.sessionOtherProvider, burns: false, endsExisting: false)) {
            $0.realms = Realms([Realm("staff")])
            $0.client.burnsOnMismatch = false
        },
        Row("for this name on another port", .refuse(.handoffOtherHost, burns: true, endsExisting: false)) {
            $0.token.host = "app.example.com:8443"
        },
        Row("for another host, policy keep", .refuse(.handoffOtherHost, burns: false, endsExisting: false)) {
            $0.token.host = "other.example.com"
            $0.client.burnsOnMismatch = false
        },
        Row("T1: another address burns", .refuse(.bindingIPMismatch, burns: true, endsExisting: false)) {
            $0.device = Self.elsewhere
        },
        Row("another address, policy keep", .refuse(.bindingIPMismatch, burns: false, endsExisting: false)) {
            $0.device = Self.elsewhere
            $0.client.burnsOnMismatch = false
        },
        Row("another network burns", .refuse(.bindingASNMismatch, burns: true, endsExisting: false)) {
            $0.device = Self.elsewhere
            $0.client.binding = .asn
        },
        Row("T17: an unknown network burns", .refuse(.bindingASNUnknown, burns: true, endsExisting: false)) {
            $0.device.asn = nil
            $0.client.binding = .asn
        },
        Row("no binding", nil) {
            $0.device = Self.elsewhere
            $0.client.binding = .none
        },
        Row("a dry run passes and says what it let pass", nil, passedInDryRun: .bindingIPMismatch) {
            $0.device = Self.elsewhere
            $0.client.bindingDryRun = true
        },
        Row("a dry run that matches says nothing", nil) { $0.client.bindingDryRun = true },
        Row(
            "a dry run does not excuse the host",
            .refuse(.handoffOtherHost, burns: true, endsExisting: false)
        ) {
            $0.client.bindingDryRun = true
            $0.token.host = "other.example.com"
        },
        Row("the organization of the token's user, by its id", nil) { $0.organization = "org_1" },
        Row("the organization of the token's user, by its name", nil) { $0.organization = "acme" },
        Row(
            "another organization burns",
            .refuse(.handoffOtherOrganization, burns: true, endsExisting: false)
        ) {
            $0.organization = "Acme"
        },
        Row(
            "an organization where the user has none, policy keep",
            .refuse(.handoffOtherOrganization, burns: false, endsExisting: false)
        ) {
            $0.organization = "org_1"
            $0.parent?.identity.traits = [:]
            $0.client.burnsOnMismatch = false
        },
        Row(
            "another organization from another device: the device decides, and nothing is said of the user",
            .refuse(.bindingIPMismatch, burns: true, endsExisting: false)
        ) {
            $0.organization = "org_2"
            $0.device = Self.elsewhere
        },
        Row(
            "T7: another organization ends no other user's session",
            .refuse(.handoffOtherOrganization, burns: true, endsExisting: false)
        ) {
            $0.organization = "org_2"
            $0.existing = $0.parent
            $0.existing?.identity.id = "bob"
        },
        Row("the same user's session in the browser", nil) { $0.existing = $0.parent },
        Row(
            "T7: another user's session ends with the token",
            .refuse(.handoffOtherUser, burns: true, endsExisting: true)
        ) {
            $0.existing = $0.parent
            $0.existing?.identity.id = "bob"
        },
        Row("T7: no policy keeps such a token", .refuse(.handoffOtherUser, burns: true, endsExisting: true)) {
            $0.existing = $0.parent
            $0.existing?.identity.id = "bob"
            $0.client.burnsOnMismatch = false
        },
        Row(
            "T7: a dry run let the other user's device pass",
            .refuse(.handoffOtherUser, burns: true, endsExisting: true),
            passedInDryRun: .bindingIPMismatch
        ) {
            $0.existing = $0.parent
            $0.existing?.identity.id = "bob"
            $0.device = Self.elsewhere
            $0.client.bindingDryRun = true
        },
        Row(
            "T7: a link from elsewhere cannot end a session",
            .refuse(.bindingIPMismatch, burns: true, endsExisting: false)
        ) {
            $0.existing = $0.parent
            $0.existing?.identity.id = "bob"
            $0.device = Self.elsewhere
        },
    ]

    @Test("every rule gives its verdict", arguments: rows)
    func verdict(row: Row) throws {
        var handoff = try Self.fresh()
        row.change(&handoff)
        let judgement = handoff.judged()
        if let refusal = row.refusal {
            #expect(judgement.verdict == refusal)
        } else {
            #expect(judgement.verdict == .accept(parent: try #require(handoff.parent)))
        }
        #expect(judgement.passedInDryRun == row.passedInDryRun)
    }

    @Test("the binding is reported only if it was judged")
    func bindingIsReportedWhenJudged() throws {
        var handoff = try Self.fresh()
        #expect(handoff.judged().binding == .ip)
        handoff.device = Self.elsewhere
        #expect(handoff.judged().binding == .ip)
        handoff.parent = nil
        #expect(handoff.judged().binding == nil)
    }

    @Test("a transferred session takes only the user and the authentication from its parent")
    func transferredSession() throws {
        let handoff = try Self.fresh()
        let parent = try #require(handoff.parent)
        let key = RecordKey(kind: .transfer, lineage: parent.lineage, digest: SHA256.digest([1]))
        let session = Session.transferred(
            from: parent,
            through: key,
            id: "ses_new",
            client: ClientSettings(clientID: "web-app"),
            host: "app.example.com:8443",
            device: Self.elsewhere,
            lifetimes: SessionSettings.Lifetimes(idle: .seconds(900), absolute: .seconds(1800)),
            now: handoff.now
        )
        #expect(session.kind == .web)
        #expect(session.origin == .transfer)
        #expect(session.id == "ses_new")
        #expect(session.host == "app.example.com:8443")
        #expect(session.clientID == "web-app")
        #expect(session.identity == parent.identity)
        #expect(session.aal == parent.aal)
        #expect(session.methods == parent.methods)
        #expect(session.authenticatedAt == parent.authenticatedAt)
        #expect(session.lineage == parent.lineage)
        #expect(session.sourceKey == key)
        #expect(session.device == Self.elsewhere)
        #expect(session.issuedAt == handoff.now)
        #expect(session.expiresAt == handoff.now.advanced(by: .seconds(1800)))
        #expect(session.idleLifetime == .seconds(900))
        #expect(session.scopes == [])
    }

    @Test("the web session stays when the browser closes if the settings say so, but not with an actor")
    func persistence() throws {
        let handoff = try Self.fresh()
        var parent = try #require(handoff.parent)
        let key = RecordKey(kind: .transfer, lineage: parent.lineage, digest: SHA256.digest([1]))
        func session(_ persistence: SessionSettings.Persistence) -> Session {
            var lifetimes = SessionSettings.Lifetimes(idle: .seconds(900), absolute: .seconds(1800))
            lifetimes.persistence = persistence
            return Session.transferred(
                from: parent,
                through: key,
                id: "ses_new",
                client: ClientSettings(clientID: "web-app"),
                host: "app.example.com",
                device: Self.elsewhere,
                lifetimes: lifetimes,
                now: handoff.now
            )
        }
        #expect(session(.never).cookieAge(at: handoff.now) == nil)
        #expect(session(.always).cookieAge(at: handoff.now) == 1800)
        #expect(session(.always).cookieAge(at: handoff.now.advanced(by: .seconds(100_000))) == 0)
        parent.actor = "bob"
        #expect(session(.always).cookieAge(at: handoff.now) == nil)
    }

    @Test("of two sessions of one user the higher level is kept, then the later expiry")
    func rank() throws {
        let session = try #require(try Self.fresh().parent)
        func other(_ aal: AssuranceLevel, _ seconds: Int64) -> Session {
            var other = session
            (other.aal, other.expiresAt) = (aal, session.expiresAt.advanced(by: .seconds(seconds)))
            return other
        }
        #expect(session.isKeptInsteadOf(other(.aal2, -1)) && session.isKeptInsteadOf(other(.aal1, 3600)))
        #expect(session.isKeptInsteadOf(session), "what is there stays when nothing is gained")
        #expect(!session.isKeptInsteadOf(other(.aal2, 1)) && !session.isKeptInsteadOf(other(.aal3, -3600)))
    }

    @Test("a client accepts tokens only by its configured methods", arguments: HandoffTransport.allCases)
    func methods(transport: HandoffTransport) {
        #expect(ClientSettings.web.takes(transport))
        #expect(!ClientSettings.web { $0.allowsCookie = false }.takes(.cookie))
        #expect(!ClientSettings.web { $0.allowsQuery = false }.takes(.query))
        #expect(!ClientSettings(clientID: "other").takes(transport))
    }

    @Test("a client shortens the sessions that are handed off to it, a delegate's too, and never lengthens them")
    func clientLifetimes() throws {
        let handoff = try Self.fresh()
        var parent = try #require(handoff.parent)
        let key = RecordKey(kind: .transfer, lineage: parent.lineage, digest: SHA256.digest([1]))
        func lifetimes(_ idle: Duration?, _ absolute: Duration?) -> [Duration] {
            var client = ClientSettings(clientID: "web-app")
            (client.transferIdleLifetime, client.transferLifetime) = (idle, absolute)
            let session = Session.transferred(
                from: parent,
                through: key,
                id: "ses_new",
                client: client,
                host: "app.example.com",
                device: handoff.device,
                lifetimes: SessionSettings.Lifetimes(idle: .seconds(900), absolute: .seconds(1800)),
                now: handoff.now
            )
            return [session.idleLifetime, session.expiresAt.since(handoff.now)]
        }
        #expect(lifetimes(nil, nil) == [.seconds(900), .seconds(1800)])
        #expect(lifetimes(.seconds(60), nil) == [.seconds(60), .seconds(1800)])
        #expect(lifetimes(nil, .seconds(600)) == [.seconds(900), .seconds(600)])
        #expect(lifetimes(.seconds(7200), .seconds(7200)) == [.seconds(900), .seconds(1800)])
        parent.actor = "bob"
        parent.expiresAt = handoff.now.advanced(by: .seconds(100_000))
        #expect(lifetimes(nil, nil) == [.seconds(900), .seconds(7200)])
        #expect(lifetimes(nil, .seconds(600)) == [.seconds(900), .seconds(600)])
    }

    @Test("a transferred session never outlives its parent")
    func neverOutlivesParent() throws {
        let handoff = try Self.fresh()
        var parent = try #require(handoff.parent)
        parent.expiresAt = handoff.now.advanced(by: .seconds(300))
        let session = Session.transferred(
            from: parent,
            through: RecordKey(kind: .transfer, lineage: parent.lineage, digest: SHA256.digest([1])),
            id: "ses_new",
            client: ClientSettings(clientID: "web-app"),
            host: "app.example.com",
            device: handoff.device,
            lifetimes: SessionSettings.Lifetimes(idle: .seconds(900), absolute: .seconds(1800)),
            now: handoff.now
        )
        #expect(session.expiresAt == parent.expiresAt)
    }

    /// A token that can be consumed: minted ten seconds ago from the device that presents it.
    private static func fresh() throws -> HandoffCase {
        let now = UnixTime(seconds: 1_800_000_000)
        let minted = now.advanced(by: .seconds(-10))
        let device = DeviceFacts(address: try #require(IPAddress("1.128.0.1")), asn: 1221, userAgent: "App/1.0")
        let lineage = Lineage(tag: "0123456789")
        let parent = Session(
            id: "ses_parent",
            kind: .native,
            origin: .native,
            lineage: lineage,
            identity: Identity(
                id: "alice",
                traits: ["email": "alice@example.com", "org_id": "org_1", "org_name": "acme"]
            ),
            aal: .aal2,
            methods: ["password", "totp"],
            scopes: ["orders:write"],
            authenticatedAt: now.advanced(by: .seconds(-600)),
            issuedAt: now.advanced(by: .seconds(-500)),
            expiresAt: now.advanced(by: .seconds(86_400)),
            idleLifetime: .seconds(3600)
        )
        let token = TransferToken(
            parent: parent,
            parentKey: RecordKey(kind: .session, lineage: lineage, digest: SHA256.digest([2])),
            clientID: "native-app",
            device: device,
            scopes: [],
            issuedAt: minted,
            expiresAt: minted.advanced(by: .seconds(60))
        )
        return HandoffCase(
            token: token,
            parent: parent,
            host: "app.example.com",
            client: .web,
            device: device,
            existing: nil,
            now: now
        )
    }
}
