import AddressIntelligence
import NIOCore
import NIOPosix
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("Native apps follow their provider")
struct SharedGrantTests {
    /// An app that signed in at `/authorize` while a browser was signed in.
    struct App {
        var client: ClientSettings
        var refreshToken: Secret
        var access: Secret
        let root: RecordKey
    }

    static func client(_ change: (inout ClientSettings) -> Void = { _ in }) -> ClientSettings {
        var client = ClientSettings(clientID: "ios")
        client.canCreateTransferToken = true
        client.refreshToken.issuing = .always
        change(&client)
        return client
    }

    static func requester(_ client: ClientSettings) throws -> TokenRequester {
        TokenRequester(client: client, sender: try SignInBench().requester())
    }

    /// The browser's user lets an app sign in.
    static func join(
        _ holder: GrantBench.Holder,
        _ node: GrantBench.Node,
        _ client: ClientSettings = client()
    ) async throws -> App {
        try await self.join(NewSession(key: holder.key, session: holder.session), node, client)
    }

    /// - Parameter cookie: The cookie of the user's session, if the session is the provider's.
    static func join(
        _ user: NewSession,
        _ node: GrantBench.Node,
        _ client: ClientSettings,
        cookie: Secret? = nil
    ) async throws -> App {
        let wish = CodeWish(
            client: client,
            api: APISettings(audience: "https://api.example.com", scopes: ["orders"]),
            scopes: ["openid", "offline_access"],
            redirectURI: nil,
            challenge: nil,
            nonce: nil,
            keyThumbprint: nil
        )
        let code = try await node.tokens.issueCode(wish, to: user, isOfBrowser: true, cookie: cookie)
        let tokens = try await node.tokens.redeem(
            CodeRedemption(code: code, redirectURI: nil, verifier: nil),
            for: try Self.requester(client)
        )
        try await waitUntil("nothing is under way") { !node.grants.isBusy }
        return App(
            client: client,
            refreshToken: try #require(tokens.refresh),
            access: try #require(tokens.access),
            root: tokens.session.key
        )
    }

    /// Refreshes the app's tokens.
    static func refresh(_ app: inout App, _ node: GrantBench.Node) async throws -> Session {
        let tokens = try await node.tokens.refresh(
            app.refreshToken,
            .access(audience: nil, scopes: nil),
            for: try self.requester(app.client)
        )
        app.refreshToken = try #require(tokens.refresh)
        app.access = try #require(tokens.access)
        return tokens.session.session
    }

    static func refusal(_ app: App, _ node: GrantBench.Node) async throws -> Reason? {
        let requester = try self.requester(app.client)
        do throws(NotDone) {
            _ = try await node.tokens.refresh(
                app.refreshToken,
                .access(audience: nil, scopes: nil),
                for: requester
            )
            return nil
        } catch {
            return error.reason
        }
    }

    @Test("A browser and an app hold one grant, and its sessions contain no time of renewal")
    func holders() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        #expect(holder.session.sharedGrant != nil && holder.session.provider?.renewAt == nil)
        let app = try await Self.join(holder, node)
        let grant = try #require(try await bench.grant(holder, node))
        #expect(grant.sessions == [holder.key, app.root])
        #expect(grant.holders == [holder.session.lineage, app.root.lineage])
        #expect(grant.following == nil, "an earlier version can read it")
        let session = try #require(try await bench.session(app.root))
        #expect(session.sharedGrant == holder.session.sharedGrant && session.lineage != holder.session.lineage)
    }

    @Test("A client that ignores its provider has no part in the grant, and is never asked about")
    func ignoring() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node, Self.client { $0.refreshToken.provider = .ignore })
        #expect(try await bench.session(app.root)?.sharedGrant == nil)
        bench.provider.script(.ended)
        bench.time.advance(by: .seconds(3600))
        _ = try await Self.refresh(&app, node)
        #expect(bench.provider.presented.isEmpty)
    }

    @Test("A disabled account: refresh, API, transfer token, web session and browser all end, with one call")
    func disabledAccount() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let (one, other) = (bench.node(), bench.node())
        let holder = try await bench.signIn(one)
        let app = try await Self.join(holder, one)
        let used = try await Self.web(of: app, one)
        let access = try #require(bench.authority.key(.access, of: app.access.bytes))
        #expect(try await bench.session(access) != nil)
        bench.time.advance(by: .seconds(890))
        let minted = try await Self.minted(app, one)
        bench.provider.script(.ended)
        bench.time.advance(by: .seconds(20))
        #expect(try await Self.refusal(app, other) == .refreshUserGone)
        #expect(bench.events == [.ended(detail: "invalid_grant")])
        #expect(try await bench.session(holder) == nil)
        #expect(try await bench.session(app.root) == nil)
        #expect(try await bench.session(access) == nil)
        #expect(try await bench.session(try #require(bench.authority.key(.session, of: used.bytes))) == nil)
        guard case .refused(.handoffUnknown, _) = try await Self.consume(minted, one) else {
            Issue.record("the transfer token ends with its lineage")
            return
        }
        #expect(try await Self.refusal(app, one) == .refreshUnknown)
        for node in [one, other] { try await bench.settled(node) }
        #expect(bench.events.count == 1)
    }

    @Test("A code is a use of the browser's session: an account that was disabled meanwhile gets nothing that lasts")
    func codeOfDisabledAccount() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        bench.time.advance(by: .seconds(7200))
        bench.provider.script(.ended)
        // The provider's answer may arrive before or after the tokens are handed out.
        let app = try? await Self.join(holder, node)
        try await bench.settled(node)
        #expect(bench.events == [.ended(detail: "invalid_grant")])
        #expect(try await bench.session(holder) == nil)
        bench.time.advance(by: .seconds(900))
        if let app { #expect(try await Self.refusal(app, node) != nil) }
    }

    @Test("The provider's no reaches an app that only mints, and a token that is presented")
    func mintAndConsume() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let app = try await Self.join(holder, node)
        bench.time.advance(by: .seconds(890))
        let minted = try await Self.minted(app, node)
        bench.provider.script(.ended)
        bench.time.advance(by: .seconds(20))
        guard case .refused(let reason, _) = try await Self.consume(minted, node) else {
            Issue.record("the provider was not asked")
            return
        }
        #expect(reason == .handoffUnknown || reason == .sessionRevoked)
        await #expect(throws: NotDone.self) { try await Self.minted(app, node) }
        #expect(bench.provider.presented.count == 0 && bench.events == [.ended(detail: "invalid_grant")])
    }

    @Test("New claims are in the next access token, in the web sessions, and in one line of the audit stream")
    func newClaims() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node)
        let web = try #require(bench.authority.key(.session, of: try await Self.web(of: app, node).bytes))
        try await bench.settled(node)
        bench.provider.set(["name": "Alice", "group": "interns"])
        bench.time.advance(by: .seconds(900))
        let session = try await Self.refresh(&app, node)
        #expect(session.identity.traits["group"] == "interns")
        try await bench.settled(node)
        for key in [holder.key, web] {
            #expect(try await bench.session(key)?.identity.traits["group"] == "interns")
        }
        #expect(bench.events == [.renewed, .changed(traits: ["group"])])
        let event = try #require(bench.events[1].auditEvent(of: holder.session))
        #expect(event.kind.rawValue == "session.traits_changed" && event.details.contains { $0 == ("traits", "group") })
    }

    @Test("Five refreshes at two gateways in one window: one call")
    func oneCall() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let (one, other) = (bench.node(), bench.node())
        let holder = try await bench.signIn(one)
        var app = try await Self.join(holder, one)
        var second = try await Self.join(holder, one, Self.client { $0.clientID = "android" })
        bench.time.advance(by: .seconds(900))
        for node in [one, other, one, other, one] {
            _ = try await Self.refresh(&app, node)
            _ = try await Self.refresh(&second, node)
            bench.time.advance(by: .seconds(60))
        }
        #expect(bench.provider.presented.count == 1)
    }

    @Test("A refresh that is not due costs no look at the grant")
    func notDue() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node)
        var ignoring = try await Self.join(holder, node, Self.client { $0.refreshToken.provider = .ignore })
        func calls(_ app: inout App) async throws -> Int {
            let before = bench.store.calls
            _ = try await Self.refresh(&app, node)
            return bench.store.calls - before
        }
        bench.time.advance(by: .seconds(900))
        #expect(try await calls(&app) > calls(&ignoring), "it is due")
        #expect(try await calls(&app) == calls(&ignoring))
        #expect(bench.provider.presented.count == 1)
    }

    @Test("A refresh that is due is one question, and writes the grant twice")
    func due() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node)
        bench.time.advance(by: .seconds(900))
        let before = bench.store.replacements.count
        _ = try await Self.refresh(&app, node)
        // The lease, the answer, and the rotation of the app's own token.
        #expect(bench.store.replacements.count - before == 3)
        #expect(bench.provider.presented.count == 1)
    }

    @Test("A token that another request rotates during the wait for the provider is no replay, also without leeway")
    func rotatedMeanwhile() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let app = try await Self.join(holder, node, Self.client { $0.refreshToken.leeway = .zero })
        bench.time.advance(by: .seconds(900))
        bench.provider.hold()
        async let refusal = Self.refusal(app, node)
        try await waitUntil { bench.provider.heldCount == 1 }
        // The same client, which does not wait.
        var other = app
        other.client.refreshToken.provider = .ignore
        _ = try await Self.refresh(&other, node)
        bench.time.advance(by: .milliseconds(1))
        bench.provider.release()
        #expect(try await refusal == .storeUnavailable)
        _ = try await Self.refresh(&other, node)
        #expect(try await bench.session(app.root) != nil)
    }

    @Test("A provider that is away for a day signs nobody out")
    func outage() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node)
        for _ in 0..<24 {
            bench.provider.script(.later(nil), .later(.seconds(30)))
            bench.time.advance(by: .seconds(3600))
            _ = try await Self.refresh(&app, node)
        }
        #expect(try await bench.session(holder) != nil)
        #expect(bench.provider.presented.isEmpty)
    }

    @Test("An access token that has expired is not presented: its refusal would end a user who was only away")
    func expiredAccessToken() async throws {
        let bench = GrantBench(life: .seconds(3600), isShared: true)
        let node = bench.node()
        var tokens = bench.provider.tokens(1)
        tokens.refreshToken = nil
        let holder = try await bench.signIn(node, tokens: tokens)
        var (app, limited) = (
            try await Self.join(holder, node),
            try await Self.join(holder, node, Self.client { $0.refreshToken.confirmWithin = .seconds(7200) })
        )
        bench.provider.script(.ended)
        for wait in [3590, 3000] as [Int64] {
            bench.time.advance(by: .seconds(wait))
            _ = try await Self.refresh(&app, node)
            _ = try await Self.refresh(&limited, node)
        }
        bench.time.advance(by: .seconds(3000))
        _ = try await Self.refresh(&app, node)
        #expect(try await Self.refusal(limited, node) == .refreshUnconfirmed, "it cannot be asked any more")
        #expect(try await bench.session(holder) != nil && bench.events.isEmpty)
    }

    @Test("After confirm_within without an answer, a refresh is 503 and its token stays good")
    func confirmWithin() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(
            holder,
            node,
            Self.client {
                $0.refreshToken.confirmEvery = .seconds(60)
                $0.refreshToken.confirmWithin = .seconds(7200)
            }
        )
        #expect(try await bench.grant(holder, node)?.following?.interval == .seconds(60))
        for _ in 0..<3 {
            bench.provider.script(.later(nil))
            bench.time.advance(by: .seconds(2000))
            _ = try await Self.refresh(&app, node)
        }
        bench.provider.script(.later(nil))
        bench.time.advance(by: .seconds(2000))
        #expect(try await Self.refusal(app, node) == .providerUnavailable)
        bench.time.advance(by: .seconds(3700))
        _ = try await Self.refresh(&app, node)
        #expect(bench.events.last == .renewed)
    }

    @Test("Settings apply to a client that joined before it had them, and count from the provider's last word")
    func laterSettings() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node)
        for _ in 0..<4 {
            bench.time.advance(by: .seconds(1800))
            _ = try await Self.refresh(&app, node)
        }
        #expect(bench.provider.presented.count == 4)
        app.client.refreshToken.confirmEvery = .seconds(60)
        app.client.refreshToken.confirmWithin = .seconds(3600)
        bench.time.advance(by: .seconds(70))
        _ = try await Self.refresh(&app, node)
        #expect(bench.provider.presented.count == 5)
        #expect(try await bench.grant(holder, node)?.following?.interval == .seconds(60))
        bench.provider.script(.later(nil))
        bench.time.advance(by: .seconds(3700))
        #expect(try await Self.refusal(app, node) == .providerUnavailable)
    }

    @Test("Operators see when the provider last confirmed a session's user, and for which clients")
    func lastWord() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var app = try await Self.join(holder, node, Self.client { $0.refreshToken.confirmEvery = .seconds(60) })
        _ = try await Self.join(holder, node, Self.client { $0.clientID = "android" })
        let subject = holder.session.subject
        bench.time.advance(by: .seconds(3600))
        let confirmedAt = bench.time.now
        _ = try await Self.refresh(&app, node)
        bench.time.advance(by: .seconds(10))
        for name in [holder.session.id, holder.key.fingerprint.description, app.root.fingerprint.description] {
            let word = try #require(try await node.grants.lastWord(about: [name], of: subject))
            #expect(word.confirmedAt == confirmedAt && word.clients == ["android", "ios"])
            #expect(
                word.text == "last confirmed \(confirmedAt.rfc3339) by https://idp.example.com, "
                    + "for the clients android, ios"
            )
        }
        #expect(try await node.grants.lastWord(about: ["ses_other"], of: subject) == nil)
        try await node.sessions.endLineage(holder.session.lineage)
        #expect(try await node.grants.lastWord(about: [holder.session.id], of: subject) == nil)
    }

    @Test("Without settings of a client, the last confirmation may be later than the time that operators see")
    func inexactWord() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        let word = try await node.grants.lastWord(about: [holder.session.id], of: holder.session.subject)
        #expect(word?.text.hasPrefix("last confirmed at or after ") == true && word?.clients == [])
    }

    @Test("An interval of hours is kept until a client joins that has a shorter one")
    func longInterval() async throws {
        let bench = GrantBench(life: .seconds(86_400), isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        _ = try await Self.join(holder, node, Self.client { $0.refreshToken.confirmEvery = .seconds(7200) })
        for (wait, calls) in [(900, 1), (3600, 1)] as [(Int64, Int)] {
            bench.time.advance(by: .seconds(wait))
            node.grants.renew(holder.session, holder.key)
            try await bench.settled(node)
            #expect(bench.provider.presented.count == calls)
        }
        _ = try await Self.join(holder, node, Self.client { $0.clientID = "android" })
        #expect(try await bench.grant(holder, node)?.following?.interval == .seconds(900))
        node.grants.renew(holder.session, holder.key)
        try await bench.settled(node)
        #expect(bench.provider.presented.count == 2)
    }

    @Test("confirm_within counts from the sign-in if the provider does not say when the user authenticated")
    func unknownTime() async throws {
        let bench = GrantBench()
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var session = holder.session
        session.authenticatedAt = Authentication.unknownTime
        let unknown = GrantBench.Holder(token: holder.token, key: holder.key, session: session)
        let client = Self.client { $0.refreshToken.confirmWithin = .seconds(3600) }
        var app = try await Self.join(unknown, node, client)
        bench.time.advance(by: .seconds(1800))
        _ = try await Self.refresh(&app, node)
        bench.time.advance(by: .seconds(1801))
        #expect(try await Self.refusal(app, node) == .refreshUnconfirmed)
    }

    @Test("confirm_within counts from a sign-in with a kit, also within a window, and not for users of the settings")
    func kit() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let client = Self.client { $0.refreshToken.confirmWithin = .seconds(3600) }
        func begin(_ method: String) async throws -> App {
            let user = SocialUser(
                proven: ProvenUser(
                    Authentication(
                        identity: Identity(id: "google-oauth2|1", traits: [:]),
                        aal: .aal1,
                        methods: [method]
                    ),
                    ProviderEvidence(provider: "google-oauth2")
                ),
                realm: .default,
                isOfProvider: false
            )
            let scopes = ["openid", "offline_access"]
            let tokens = try await node.tokens.begin(user, for: nil, scopes: scopes, by: try Self.requester(client))
            return App(
                client: client,
                refreshToken: try #require(tokens.refresh),
                access: try #require(tokens.access),
                root: tokens.session.key
            )
        }
        var (kit, own) = (try await begin("google-oauth2"), try await begin("password"))
        for _ in 0..<6 {
            bench.time.advance(by: .seconds(600))
            _ = try await Self.refresh(&kit, node)
            _ = try await Self.refresh(&own, node)
        }
        bench.time.advance(by: .seconds(1))
        #expect(try await Self.refusal(kit, node) == .refreshUnconfirmed)
        #expect(try await Self.refusal(own, node) == nil)
        kit.client.refreshToken.confirmWithin = .zero
        #expect(try await Self.refusal(kit, node) == nil, "the token is not used up")
    }

    @Test("A lost rotation signs nobody out; after confirm_within the app signs in again")
    func unconfirmed() async throws {
        let bench = GrantBench(isShared: true)
        let node = bench.node()
        let holder = try await bench.signIn(node)
        var (limited, other) = (
            try await Self.join(holder, node, Self.client { $0.refreshToken.confirmWithin = .seconds(3600) }),
            try await Self.join(holder, node, Self.client { $0.clientID = "android" })
        )
        bench.provider.script(.answerLost, .ended)
        bench.time.advance(by: .seconds(900))
        _ = try await Self.refresh(&limited, node)
        #expect(bench.events.last == .lost(detail: "invalid_grant"))
        bench.time.advance(by: .seconds(3600))
        #expect(try await Self.refusal(limited, node) == .refreshUnconfirmed)
        _ = try await Self.refresh(&other, node)
        #expect(try await bench.session(holder) != nil)
    }

    // MARK: Transfer tokens

    static func minted(_ app: App, _ node: GrantBench.Node) async throws -> Secret {
        try await node.mint.mint(.session(app.root), host: nil, for: try self.requester(app.client)).token
    }

    static func consume(_ token: Secret, _ node: GrantBench.Node) async throws -> HandoffOutcome {
        var web = ClientSettings(clientID: "web")
        web.allowsCookie = true
        let requester = try SignInBench().requester()
        let request = HandoffRequest(
            token: token.bytes,
            transport: .cookie,
            authority: SignInBench.host,
            client: web,
            device: DeviceFacts(address: requester.address, asn: nil, userAgent: nil),
            existing: nil,
            attempt: AttemptSecret(),
            requestID: "r"
        )
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        return try await node.consumer.consume(request, on: loop).get().outcome
    }

    /// The token of a web session that the app handed off.
    static func web(of app: App, _ node: GrantBench.Node) async throws -> Secret {
        guard case .signedIn(let token, _, _) = try await self.consume(try await self.minted(app, node), node) else {
            throw NotDone(.handoffUnknown)
        }
        return token
    }
}
