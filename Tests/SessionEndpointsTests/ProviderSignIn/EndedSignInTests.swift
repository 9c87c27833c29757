import EndpointBench
import Endpoints
import NIOCore
import Observability
import Providers
import Sessions
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("Sign-ins whose session at the provider has ended")
struct EndedSignInTests {
    private static let issuer = "https://idp.example.com"

    /// What ends while the provider is asked about `user-1`.
    enum End: CaseIterable {
        case session, subject, unnamed, otherSession, otherSubject, otherUnnamed

        var concernsUser: Bool { [.session, .subject, .unnamed].contains(self) }
        /// The provider's id of the session that begins.
        var sessionID: String? { self == .unnamed || self == .otherUnnamed ? nil : "sid-1" }

        /// What ends, by the store's name for it.
        var name: String {
            switch self {
            case .session: ProviderSession.endName(of: "sid-1", at: issuer)
            case .otherSession: ProviderSession.endName(of: "sid-2", at: issuer)
            case .subject: "user-1"
            case .otherSubject: "user-2"
            case .unnamed: ProviderSession.endName(ofUnnamed: "user-1", at: issuer)
            case .otherUnnamed: ProviderSession.endName(ofUnnamed: "user-2", at: issuer)
            }
        }
    }

    private func browser(_ end: End) throws -> SigningBrowser {
        let browser = try SigningBrowser(providerEndsSessions: true)
        var user = try ScriptedBrowserProvider.user().get()
        user.evidence.sessionID = end.sessionID
        browser.provider.answer(.success(user))
        let gateway = browser.gateway
        browser.provider.meanwhile {
            gateway.time.advance(by: .milliseconds(600))
            try? await gateway.store.end(subject: end.name, on: gateway.loop).get()
        }
        return browser
    }

    @Test("What ends while the browser comes back begins no session; what is another's does", arguments: End.allCases)
    func browser(end: End) async throws {
        var browser = try self.browser(end)
        let id = try await browser.begin(("return_to", "/a"))
        let answer = try await browser.comeBack(id)
        guard end.concernsUser else {
            #expect(answer.status == 303 && browser.session != nil, "\(answer.text)")
            return
        }
        #expect(answer.status == 403 && answer.reason == .signInEnded, "\(answer.text)")
        #expect(browser.session == nil && browser.kept.isEmpty && browser.gateway.store.sessionCount == 0)
        let record = try #require(browser.gateway.audit.records.last)
        #expect(record.reason == .signInEnded && record.subject == "user-1" && record.provider == Self.issuer)
        #expect(record.auditEvent?.kind == .signInFailed && browser.reasons == [.signInEnded])
        let page = String(decoding: shown(answer).body, as: UTF8.self)
        #expect(page.contains("Your session has ended.") && page.contains("href=\"/.sallyport/login?return_to=/a\""))
        browser.gateway.time.advance(by: .milliseconds(1))
        #expect(try await browser.signIn() == browser.session, "the user signs in at once")
    }

    @Test("An app learns the same from its flow, and its user signs in at once", arguments: End.allCases)
    func app(end: End) async throws {
        var app = try ExchangingApp()
        app.browser = try self.browser(end)
        try await app.begin()
        let answer = try await app.exchange(nil, try ExchangingApp.code(in: try await app.signIn()))
        guard end.concernsUser else {
            #expect(answer.status == 200, "\(answer.text)")
            return
        }
        #expect(answer.status == 422 && answer.reason == .exchangeNotSignedIn, "\(answer.text)")
        let message = answer.document?["ui"]?["messages"]?.first
        #expect(message?["context"]?["reason"] == .string(Reason.signInEnded.rawValue))
        #expect(app.browser.reasons.first == .signInEnded && app.gateway.store.sessionCount == 0)
        app.gateway.time.advance(by: .milliseconds(1))
        let again = try await app.exchange(nil, try ExchangingApp.code(in: try await app.signIn()))
        #expect(again.status == 200, "\(again.text)")
    }

    @Test("The end between the sign-in of the browser and the exchange of the app counts as well")
    func beforeExchange() async throws {
        var app = try ExchangingApp()
        app.browser = try self.browser(.otherSubject)
        try await app.begin()
        let code = try ExchangingApp.code(in: try await app.signIn())
        try await app.gateway.store.end(subject: "user-1", on: app.gateway.loop).get()
        #expect(try await app.exchange(nil, code).status == 404)
    }

    @Test("F1: Wherever the store fails while the browser comes back, the answer is 503 and no session is handed out")
    func outage() async throws {
        var outages = 0
        for calls in 0..<40 {
            var browser = try self.browser(.session)
            let id = try await browser.begin()
            browser.gateway.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, calls) }
            let answer = try await browser.comeBack(id)
            #expect(browser.session == nil)
            guard answer.status == 403 else {
                #expect(answer.isOutage && browser.kept == [id], "\(calls): \(answer.text)")
                outages += 1
                continue
            }
            browser.gateway.store.fail(with: nil)
            #expect(try await browser.user() == nil)
            break
        }
        #expect((5..<30).contains(outages), "each call of the store was one")
    }
}
