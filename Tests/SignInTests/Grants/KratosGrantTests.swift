import NIOCore
import NIOPosix
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import TestSupport
import Testing
import Vocabulary

@Suite("What came of a session of Kratos follows this session")
struct KratosGrantTests {
    /// The reasons with which a transfer token is refused that ended with its lineage.
    private static let ended: [Reason] = [.handoffUnknown, .sessionRevoked]

    private static func refusal(of token: Secret, _ node: GrantBench.Node) async throws -> Reason? {
        guard case .refused(let reason, _) = try await SharedGrantTests.consume(token, node) else { return nil }
        return reason
    }

    @Test("A disabled identity: the app's token, its WebView, an unused transfer token and the browser's client end")
    func disabledIdentity() async throws {
        let bench = KratosGrantBench()
        let (one, other) = (bench.node(), bench.node())
        let client = try await bench.join(one)
        bench.advance(by: 860)
        let webView = try await bench.webView(one)
        let unused = try await bench.mint(one)
        let token = try await SharedGrantTests.web(of: client, one)
        let handedOff = try #require(bench.base.authority.key(.session, of: token.bytes))
        #expect(try await bench.use(webView, other) != nil)
        bench.kratos.answer(with: .status(401))
        bench.advance(by: 31)
        #expect(try await bench.use(webView, other) == nil)
        let refusal = try #require(try await Self.refusal(of: unused, one))
        #expect(Self.ended.contains(refusal))
        #expect(try await bench.base.session(handedOff) != nil, "Kratos has not been asked about the cookie")
        bench.advance(by: 15)
        #expect(try await SharedGrantTests.refusal(client, other) == .refreshUserGone)
        for key in [client.root, handedOff] { #expect(try await bench.base.session(key) == nil) }
        #expect(bench.base.events.filter { if case .ended = $0 { true } else { false } }.count == 2)
        // The token and the cookie stay ended here, whatever Kratos says later.
        bench.kratos.answer(with: .session)
        await #expect(throws: NotDone(.sessionUnknown)) { try await bench.mint(one) }
        await #expect(throws: NotDone(.sessionUnknown)) { try await bench.join(one) }
    }

    @Test("whoami's 401 ends an unused transfer token when it is presented, and the WebView with it")
    func presented() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let webView = try await bench.webView(node)
        bench.advance(by: 29)
        let unused = try await bench.mint(node)
        bench.kratos.answer(with: .status(401))
        bench.advance(by: 31)
        let refusal = try #require(try await Self.refusal(of: unused, node))
        #expect(Self.ended.contains(refusal))
        #expect(try await bench.base.session(webView) == nil)
    }

    @Test("Kratos is asked once per cache about what an app hands off, however many WebViews and gateways use it")
    func oneQuestion() async throws {
        let bench = KratosGrantBench()
        let (one, other) = (bench.node(), bench.node())
        let webViews = [try await bench.webView(one), try await bench.webView(one), try await bench.webView(other)]
        #expect(bench.kratos.questions == 1, "the answer about the token is young")
        for round in 1...3 {
            bench.advance(by: 31)
            for node in [one, other] {
                for webView in webViews { #expect(try await bench.use(webView, node) != nil) }
            }
            #expect(bench.kratos.questions == 1 + round)
        }
        let session = try #require(try await bench.base.session(webViews[0]))
        let calls = bench.base.store.calls
        for node in [one, other] {
            node.grants.renew(session, webViews[0])
            #expect(!node.grants.isBusy)
        }
        #expect(bench.base.store.calls == calls && bench.kratos.questions == 4)
    }

    @Test("A client of the browser determines itself how often Kratos is asked")
    func clientsInterval() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        var app = try await bench.join(node, SharedGrantTests.client { $0.refreshToken.confirmEvery = .seconds(300) })
        #expect(bench.kratos.questions == 1)
        bench.advance(by: 290)
        _ = try await SharedGrantTests.refresh(&app, node)
        #expect(bench.kratos.questions == 1)
        bench.advance(by: 301)
        _ = try await SharedGrantTests.refresh(&app, node)
        #expect(bench.kratos.questions == 2)
    }

    @Test("After the session has expired, the client of a user who is still active goes on, with the user's traits")
    func activeAfterExpiry() async throws {
        let bench = KratosGrantBench(life: .seconds(3600), hasAdminAPI: true)
        let node = bench.node()
        var app = try await bench.join(node)
        bench.kratos.answer(with: .status(401))
        bench.kratos.set(["name": "Ada", "group": "interns"])
        for round in 1...3 {
            bench.advance(by: 3601)
            let session = try await SharedGrantTests.refresh(&app, node)
            #expect(session.identity.traits["group"] == "interns")
            #expect(bench.kratos.identityQuestions == round)
        }
    }

    @Test("After the session has expired, an inactive or deleted user's client ends", arguments: ["inactive", nil])
    func goneAfterExpiry(state: String?) async throws {
        let bench = KratosGrantBench(life: .seconds(3600), hasAdminAPI: true)
        let node = bench.node()
        let app = try await bench.join(node)
        bench.kratos.answer(with: .status(401))
        bench.kratos.setIdentity(state)
        bench.advance(by: 3601)
        #expect(try await SharedGrantTests.refusal(app, node) == .refreshUserGone)
        #expect(try await bench.base.session(app.root) == nil)
    }

    @Test("Without the admin API, an expired session ends no client, and confirm_within counts")
    func unknownAfterExpiry() async throws {
        let bench = KratosGrantBench(life: .seconds(3600))
        let node = bench.node()
        var app = try await bench.join(node)
        let limited = try await bench.join(
            node,
            SharedGrantTests.client {
                $0.clientID = "android"
                $0.refreshToken.confirmWithin = .seconds(3600)
            }
        )
        bench.kratos.answer(with: .status(401))
        bench.advance(by: 3601)
        _ = try await SharedGrantTests.refresh(&app, node)
        #expect(try await SharedGrantTests.refusal(limited, node) == .refreshUnconfirmed)
        #expect(bench.kratos.questions == 1)
    }

    @Test("A Kratos that is away or not ready signs nobody out", arguments: [0, 401, 429, 500])
    func away(status: Int) async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let webView = try await bench.webView(node)
        var app = try await bench.join(node)
        let unused = try await bench.mint(node)
        bench.kratos.answer(with: status == 0 ? .nothing : .status(status), isReady: false)
        bench.advance(by: 31)
        #expect(try await bench.use(webView, node) != nil)
        guard case .signedIn = try await SharedGrantTests.consume(unused, node) else {
            Issue.record("an outage refuses no transfer token")
            return
        }
        for _ in 0..<2 {
            bench.advance(by: 800)
            #expect(try await bench.use(webView, node) != nil)
            _ = try await SharedGrantTests.refresh(&app, node)
        }
        #expect(bench.base.events.contains { if case .later = $0 { true } else { false } })
        bench.kratos.answer(with: .session)
        bench.advance(by: 100)
        #expect(try await bench.use(webView, node) != nil)
        #expect(bench.base.events.last == .renewed)
    }

    @Test("Traits that changed at Kratos are in the next access token, and in WebViews at once")
    func traits() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let webView = try await bench.webView(node)
        var app = try await bench.join(node)
        let token = try await SharedGrantTests.web(of: app, node)
        let handedOff = try #require(bench.base.authority.key(.session, of: token.bytes))
        try await bench.base.settled(node)
        bench.kratos.set(["name": "Ada", "group": "interns"])
        bench.advance(by: 450)
        #expect(try await bench.use(webView, node)?.identity.traits["group"] == "interns")
        #expect(try await bench.use(handedOff, node)?.identity.traits["group"] == nil)
        bench.advance(by: 460)
        let session = try await SharedGrantTests.refresh(&app, node)
        #expect(session.identity.traits["group"] == "interns")
        try await bench.base.settled(node)
        #expect(try await bench.base.session(handedOff)?.identity.traits["group"] == "interns")
        #expect(bench.base.events.contains(.changed(traits: ["group"])))
    }

    @Test("A client that joins with younger traits than the grant's makes Kratos decide")
    func youngerTraits() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        var first = try await bench.join(node)
        bench.kratos.set(["name": "Ada", "group": "interns"])
        bench.advance(by: 60)
        var second = try await bench.join(node, SharedGrantTests.client { $0.clientID = "android" })
        bench.advance(by: 60)
        node.grants.renew(try #require(try await bench.base.session(second.root)), second.root)
        try await bench.base.settled(node)
        for key in [first.root, second.root] {
            #expect(try await bench.base.session(key)?.identity.traits["group"] == "interns")
        }
        _ = try await SharedGrantTests.refresh(&first, node)
        _ = try await SharedGrantTests.refresh(&second, node)
    }

    @Test("New traits that a client brings at one gateway are not taken back at another")
    func traitsElsewhere() async throws {
        let bench = KratosGrantBench()
        let (one, other) = (bench.node(), bench.node())
        let first = try await bench.join(one)
        #expect(try await bench.use(first.root, other) != nil, "from now on, the grant is not due there")
        bench.kratos.set(["name": "Ada", "group": "interns"])
        bench.advance(by: 60)
        let second = try await bench.join(one, SharedGrantTests.client { $0.clientID = "android" })
        bench.advance(by: 2)
        _ = try await SharedGrantTests.minted(second, other)
        for key in [first.root, second.root] {
            #expect(try await bench.base.session(key)?.identity.traits["group"] == "interns")
        }
        #expect(bench.kratos.questions == 2, "both gateways of the bench share the answer, which is young")
    }

    @Test("An app that exchanges its token again changes nothing, also while new traits wait for Kratos's answer")
    func exchangedAgain() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let key = try #require(try await bench.base.session(try await bench.webView(node))?.sharedGrant)
        func version() async throws -> RecordVersion { try #require(try await node.grants.grant(key)).version }
        let former = try await version()
        _ = try await bench.exchange(node)
        #expect(try await version() == former)
        bench.kratos.set(["name": "Ada", "group": "interns"])
        bench.advance(by: 25)
        _ = try await bench.exchange(node)
        let changed = try await version()
        #expect(changed != former)
        bench.advance(by: 1)
        _ = try await bench.exchange(node)
        #expect(try await version() == changed)
    }

    @Test("A pause that another provider demands delays no question to Kratos")
    func othersPause() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let holder = try await bench.base.signIn(node)
        let webView = try await bench.webView(node)
        bench.base.provider.script(.later(.seconds(300)))
        bench.advance(by: 240)
        try await bench.base.use(holder, at: node)
        #expect(bench.base.events == [.later(detail: "temporarily_unavailable")])
        #expect(try await bench.use(webView, node) != nil)
        #expect(bench.kratos.questions == 2)
    }

    @Test("A provider that does not answer delays no question to Kratos")
    func othersSilence() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let webView = try await bench.webView(node)
        var holders: [GrantBench.Holder] = []
        for _ in 0..<32 { holders.append(try await bench.base.signIn(node)) }
        bench.base.provider.hold()
        bench.advance(by: 240)
        for holder in holders { node.grants.renew(holder.session, holder.key) }
        try await waitUntil { bench.base.provider.heldCount == holders.count }
        node.grants.renew(try #require(try await bench.base.session(webView)), webView)
        try await waitUntil { bench.kratos.questions == 2 }
        bench.base.provider.release()
        try await bench.base.settled(node)
    }

    @Test("A token whose grant has ended ends, too, even if the gateway that ended the grant died meanwhile")
    func endedGrant() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let webView = try await bench.webView(node)
        let grant = try #require(try await bench.base.session(webView)?.sharedGrant)
        try await bench.base.store.end(grant.lineage, on: MultiThreadedEventLoopGroup.singleton.next()).get()
        await #expect(throws: NotDone(.sessionUnknown)) { try await bench.mint(node) }
        #expect(try await bench.base.session(webView) == nil)
    }

    @Test("The cookie is not kept after the last client has left, and an extended session gets a grant again")
    func lastLeaves() async throws {
        let bench = KratosGrantBench(life: .seconds(3600))
        let node = bench.node()
        let app = try await bench.join(node)
        let key = try #require(try await bench.base.session(app.root)?.sharedGrant)
        bench.advance(by: 3601)
        try await node.tokens.revoke(app.refreshToken, for: try SharedGrantTests.requester(app.client))
        try await bench.base.settled(node)
        #expect(try await node.grants.grant(key) != nil, "a store may refuse the key of a deleted record for a while")
        bench.advance(by: 1)
        #expect(try await node.grants.grant(key) == nil)
        bench.kratos.extend(until: bench.base.time.now.advanced(by: .seconds(3600)))
        var again = try await bench.join(node)
        bench.advance(by: 901)
        _ = try await SharedGrantTests.refresh(&again, node)
        #expect(bench.kratos.questions == 3)
    }

    @Test("The sign-out of a WebView or a client leaves the others, and the session at Kratos, alone")
    func leaving() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let minted = try await bench.mint(node)
        guard case .signedIn(let token, _, _) = try await SharedGrantTests.consume(minted, node) else {
            Issue.record("not signed in")
            return
        }
        let other = try await bench.webView(node)
        let requester = try SignInBench().requester(cookies: [token])
        #expect(try await node.sessions.signOutBrowser(of: requester).count == 1)
        try await bench.base.settled(node)
        var (app, second) = (
            try await bench.join(node), try await bench.join(node, SharedGrantTests.client { $0.clientID = "android" })
        )
        try await node.tokens.revoke(app.refreshToken, for: try SharedGrantTests.requester(app.client))
        try await bench.base.settled(node)
        for _ in 0..<2 {
            bench.advance(by: 460)
            #expect(try await bench.use(other, node) != nil)
        }
        _ = try await SharedGrantTests.refresh(&second, node)
        app = try await bench.join(node)
        _ = try await SharedGrantTests.refresh(&app, node)
    }

    @Test("A session that Kratos has extended is asked about for longer")
    func extended() async throws {
        let bench = KratosGrantBench(life: .seconds(3600))
        let node = bench.node()
        var app = try await bench.join(node)
        bench.kratos.extend(until: bench.base.time.now.advanced(by: .seconds(7200)))
        bench.advance(by: 1800)
        _ = try await SharedGrantTests.refresh(&app, node)
        bench.kratos.answer(with: .status(401))
        bench.advance(by: 3600)
        #expect(try await SharedGrantTests.refusal(app, node) == .refreshUserGone)
    }

    @Test("A client that ignores its provider is never asked about")
    func ignoring() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let client = SharedGrantTests.client { $0.refreshToken.provider = .ignore }
        let webView = try await bench.webView(node, client)
        var app = try await bench.join(node, client)
        #expect(try await bench.base.session(webView)?.provider?.grant == nil)
        #expect(try await bench.base.session(app.root)?.provider?.grant == nil)
        bench.kratos.answer(with: .status(401))
        bench.advance(by: 850)
        #expect(try await bench.use(webView, node) != nil)
        bench.advance(by: 100)
        _ = try await SharedGrantTests.refresh(&app, node)
        #expect(bench.kratos.questions == 2, "one for the token and one for the cookie")
    }

    @Test("Tokens that end with the browser's session end with Kratos's")
    func online() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        var app = try await bench.join(node, SharedGrantTests.client { $0.refreshToken.isOnline = true })
        bench.kratos.answer(with: .status(401))
        bench.advance(by: 910)
        // Kratos's answer may come before or after the tokens are handed out.
        _ = try? await SharedGrantTests.refresh(&app, node)
        try await bench.base.settled(node)
        #expect(try await bench.base.session(app.root) == nil)
        #expect(try await SharedGrantTests.refusal(app, node) == .refreshUnknown)
    }

    @Test("No app sees the kept token or cookie, and a browser's cookie is kept as such")
    func hidden() async throws {
        let bench = KratosGrantBench()
        let node = bench.node()
        let webView = try await bench.webView(node)
        let app = try await bench.join(node)
        for (key, credential) in [(webView, SwitchedKratos.token), (app.root, SwitchedKratos.cookie)] {
            let session = try #require(try await bench.base.session(key))
            #expect(!session.showsProviderTokens)
            let grant = try await node.grants.grant(try #require(session.sharedGrant))?.record
            #expect(grant?.tokens.accessToken == credential && grant?.tokens.refreshToken == nil)
        }
    }
}
