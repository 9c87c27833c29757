import EndpointBench
import Endpoints
import NIOCore
import NIOPosix
import Observability
import Providers
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Users who are blocked while they sign in at a provider")
struct BlockedSignInTests {
    /// The blocks as another gateway with this store writes them.
    private static func blocks(of gateway: Gateway) -> UserBlocks {
        RecordAccess(
            store: gateway.store,
            authority: gateway.authority,
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: gateway.time.clock
        ).blocks
    }

    /// Blocks `user-1` while the provider is asked.
    private static func blockMeanwhile(_ browser: SigningBrowser) {
        let gateway = browser.gateway
        browser.provider.meanwhile {
            let block = UserBlock(
                subject: "user-1",
                provider: nil,
                names: ["user-1"],
                until: nil,
                note: nil,
                changedAt: gateway.time.now,
                changedBy: "ops"
            )
            try? await Self.blocks(of: gateway).put(block)
        }
    }

    private static func lift(_ browser: SigningBrowser) async throws {
        browser.provider.meanwhile {}
        try await Self.blocks(of: browser.gateway).lift(["user-1"], by: "ops")
    }

    @Test("A browser gets a page, and the session that it has is not replaced")
    func browser() async throws {
        var browser = try SigningBrowser()
        let token = try await browser.signIn()
        browser.gateway.time.advance(by: .seconds(1))
        Self.blockMeanwhile(browser)
        let id = try await browser.begin(("return_to", "/a"))
        let answer = try await browser.comeBack(id)
        #expect(answer.status == 403 && answer.reason == .signInBlocked, "\(answer.text)")
        #expect(browser.session == token && browser.kept.isEmpty && browser.gateway.store.sessionCount == 1)
        let record = try #require(browser.gateway.audit.records.last)
        #expect(record.act == .session(.refused(.signInBlocked), .web) && record.subject == "user-1")
        #expect(record.auditEvent?.kind == .signInFailed && record.auditEvent?.reason == .signInBlocked)
        let page = String(decoding: shown(answer).body, as: UTF8.self)
        #expect(page.contains("Sign in with another account") && page.contains("prompt=login"), "\(page)")
        try await Self.lift(browser)
        browser.gateway.time.advance(by: .seconds(1))
        #expect(try await browser.signIn() == browser.session)
    }

    @Test("An app learns it from its flow, and gets a session once the block is lifted")
    func app() async throws {
        var app = try ExchangingApp()
        Self.blockMeanwhile(app.browser)
        try await app.begin()
        let answer = try await app.exchange(nil, try ExchangingApp.code(in: try await app.signIn()))
        #expect(answer.status == 422 && answer.reason == .exchangeNotSignedIn, "\(answer.text)")
        let message = answer.document?["ui"]?["messages"]?.first
        #expect(message?["context"]?["reason"] == .string(Reason.signInBlocked.rawValue))
        #expect(message?["text"] == "This account is not allowed here.")
        #expect(app.browser.reasons.first == .signInBlocked && app.gateway.store.sessionCount == 0)
        try await Self.lift(app.browser)
        let again = try await app.exchange(nil, try ExchangingApp.code(in: try await app.signIn()))
        #expect(again.status == 200, "\(again.text)")
    }
}
