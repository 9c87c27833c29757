import AddressIntelligence
import Cryptography
import Sessions
import SignOn
import Testing
import Vocabulary

@Suite("Judging tickets between hosts")
struct TicketCaseTests {
    private static let now = UnixTime(seconds: 1_795_000_000)
    private static let host = "b.example.com"
    private static let authority = TokenAuthority(secret: Secret("a secret of the tests, 32 bytes or more"))
    private static let lineage = Self.authority.newLineage()
    private static let address = IPAddress(v4: 0xC000_0201)
    private static let otherAddress = IPAddress(v4: 0xC633_6407)

    private static func device(_ address: IPAddress = Self.address) -> DeviceFacts {
        DeviceFacts(address: address, asn: nil, userAgent: nil)
    }

    private static func session(_ change: (inout Session) -> Void = { _ in }) -> Session {
        var session = Session(
            id: "ses_1",
            kind: .web,
            origin: .browser,
            lineage: Self.lineage,
            identity: Identity(id: "alice", traits: [:]),
            host: "a.example.com",
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: Self.now.advanced(by: .seconds(-600)),
            issuedAt: Self.now.advanced(by: .seconds(-600)),
            expiresAt: Self.now.advanced(by: .seconds(3600)),
            idleLifetime: .seconds(1800),
            device: Self.device()
        )
        change(&session)
        return session
    }

    // MARK: Issuing

    private struct Issue: Sendable, CustomStringConvertible {
        var description: String
        var suffices: Bool
        var demand = SignInDemand()
        var bindings: Set<BindingMode> = []
        var change: @Sendable (inout Session) -> Void = { _ in }
    }

    private static let fresh: @Sendable (inout Session) -> Void = { $0.issuedAt = Self.now.advanced(by: .seconds(-5)) }

    private static let issues: [Issue] = [
        Issue(description: "nothing is demanded", suffices: true),
        Issue(description: "a new sign-in is demanded", suffices: false, demand: SignInDemand(isAgain: true)),
        Issue(description: "and was made", suffices: true, demand: SignInDemand(isAgain: true), change: Self.fresh),
        Issue(description: "and a handoff came instead", suffices: false, demand: SignInDemand(isAgain: true)) {
            Self.fresh(&$0)
            $0.origin = .transfer
        },
        Issue(description: "and a ticket came instead", suffices: false, demand: SignInDemand(isAgain: true)) {
            Self.fresh(&$0)
            $0.sourceKey = Self.authority.make(.session, in: Self.lineage).key
        },
        Issue(description: "the level is reached", suffices: true, demand: SignInDemand(aal: .aal1)),
        Issue(description: "the level is not reached", suffices: false, demand: SignInDemand(aal: .aal2)),
        Issue(description: "and cannot be", suffices: true, demand: SignInDemand(aal: .aal2), change: Self.fresh),
        Issue(description: "recent enough", suffices: true, demand: SignInDemand(maxAge: .seconds(601))),
        Issue(description: "by less than the margin", suffices: false, demand: SignInDemand(maxAge: .seconds(600))),
        Issue(description: "too old", suffices: false, demand: SignInDemand(maxAge: .seconds(60))),
        Issue(description: "the same device", suffices: true, bindings: [.ip]),
        Issue(description: "another device", suffices: false, bindings: [.ip]) {
            $0.device = Self.device(otherAddress)
        },
        Issue(description: "another device, not compared", suffices: true) { $0.device = Self.device(otherAddress) },
        Issue(description: "an unknown device", suffices: false, bindings: [.ip]) { $0.device = nil },
        Issue(description: "an unknown network", suffices: false, bindings: [.ip, .asn]),
        Issue(description: "another device that has just signed in", suffices: true, bindings: [.ip]) {
            Self.fresh(&$0)
            $0.device = Self.device(otherAddress)
        },
    ]

    @Test("A session issues a ticket, or its user signs in first", arguments: Self.issues.indices)
    func issue(index: Int) {
        let row = Self.issues[index]
        let judged = TicketIssueCase(
            session: Self.session(row.change),
            begunAt: Self.now.advanced(by: .seconds(-10)),
            demand: row.demand,
            bindings: row.bindings,
            device: Self.device(),
            now: Self.now
        )
        #expect(judged.suffices == row.suffices, "\(row)")
    }

    // MARK: Using

    private static let challenge = SHA256.digest(Array("nonce".utf8))
    private static let parentKey = Self.authority.make(.session, in: Self.lineage).key
    private static let ownKey = Self.authority.make(.session, in: Self.lineage).key

    private static func own(_ change: (inout Session) -> Void = { _ in }) -> FoundSession {
        FoundSession(
            key: Self.ownKey,
            session: Self.session {
                $0.host = Self.host
                change(&$0)
            }
        )
    }

    private struct Use: Sendable, CustomStringConvertible {
        var description: String
        var verdict: TicketUseCase.Verdict
        var change: @Sendable (inout TicketUseCase) -> Void = { _ in }
    }

    private static let uses: [Use] = [
        Use(description: "valid", verdict: .make),
        Use(description: "for another host", verdict: .refuse(.ticketOtherHost)) { $0.host = "c.example.com" },
        Use(description: "the same name, another port", verdict: .refuse(.ticketOtherHost)) { $0.host += ":8443" },
        Use(description: "another nonce", verdict: .refuse(.ticketOtherBrowser)) { $0.challenge = SHA256.digest([]) },
        Use(description: "expired", verdict: .refuse(.ticketExpired)) { $0.ticket.expiresAt = Self.now },
        Use(description: "its session has ended", verdict: .refuse(.ticketUnknown)) { $0.parent = nil },
        Use(description: "its session has expired", verdict: .refuse(.ticketUnknown)) {
            $0.parent?.expiresAt = Self.now
        },
        Use(description: "the browser has a session of the same sign-in", verdict: .keep(Self.ownKey)) {
            $0.existing = [Self.own()]
        },
        Use(description: "of the same sign-in, weaker", verdict: .make) {
            $0.existing = [Self.own { $0.aal = .aal0 }]
        },
        Use(description: "of the same sign-in, older", verdict: .make) {
            $0.existing = [Self.own { $0.authenticatedAt = Self.now.advanced(by: .seconds(-601)) }]
        },
        Use(description: "of the same sign-in, shorter", verdict: .make) {
            $0.existing = [Self.own { $0.expiresAt = Self.now.advanced(by: .seconds(60)) }]
        },
        Use(description: "of the same sign-in, of another device", verdict: .make) {
            $0.bindings = [.ip]
            $0.existing = [Self.own { $0.device = Self.device(otherAddress) }]
        },
        Use(description: "of another sign-in of the same user", verdict: .make) {
            $0.existing = [Self.own { $0.lineage = Self.authority.newLineage() }]
        },
        Use(description: "of another user", verdict: .askAgain) {
            $0.existing = [Self.own { $0.identity.id = "bob" }]
        },
        Use(description: "of another user, whose id only looks the same", verdict: .askAgain) {
            $0.existing = [Self.own { $0.identity.id = "re\u{301}my" }]
            $0.parent?.identity.id = "r\u{E9}my"
        },
        Use(description: "of another user, after a new sign-in", verdict: .make) {
            $0.existing = [Self.own { $0.identity.id = "bob" }]
            $0.parent?.issuedAt = Self.now.advanced(by: .seconds(-5))
        },
        Use(description: "two sessions, one of another user", verdict: .askAgain) {
            $0.existing = [Self.own(), Self.own { $0.identity.id = "bob" }]
        },
    ]

    @Test("A ticket makes a session, keeps one, or is refused", arguments: Self.uses.indices)
    func use(index: Int) {
        let row = Self.uses[index]
        var judged = TicketUseCase(
            ticket: HostTicket(
                parent: Self.parentKey,
                owner: RecordOwner(subject: "alice", epoch: 0),
                host: Self.host,
                challenge: Self.challenge,
                issuedAt: Self.now,
                expiresAt: Self.now.advanced(by: HostTicket.lifetime)
            ),
            parent: Self.session(),
            host: Self.host,
            challenge: Self.challenge,
            begunAt: Self.now.advanced(by: .seconds(-10)),
            existing: [],
            bindings: [],
            device: Self.device(),
            now: Self.now
        )
        row.change(&judged)
        #expect(judged.verdict == row.verdict, "\(row)")
    }

    @Test("What a ticket makes copies the sign-in and belongs to the new host alone")
    func derived() {
        let parent = Self.session {
            $0.provider = ProviderSession(name: "https://idp.example.com", sessionID: "sid-1")
            $0.scopes = ["x"]
            $0.epoch = 7
            $0.isPersistent = true
        }
        let made = Session.onAnotherHost(
            from: parent,
            Self.parentKey,
            id: "ses_2",
            host: Self.host,
            device: Self.device(Self.otherAddress),
            now: Self.now
        )
        var expected = parent
        expected.id = "ses_2"
        expected.host = Self.host
        expected.device = Self.device(Self.otherAddress)
        expected.issuedAt = Self.now
        expected.sourceKey = Self.parentKey
        #expect(made == expected)

        let root = Self.authority.make(.session, in: Self.lineage).key
        let second = Session.onAnotherHost(
            from: Self.session {
                $0.origin = .transfer
                $0.sourceKey = root
            },
            Self.parentKey,
            id: "ses_3",
            host: Self.host,
            device: Self.device(),
            now: Self.now
        )
        #expect(second.sourceKey == root && second.familyRoot(Self.ownKey) == root, "the family has one root")
    }
}
