import EndpointBench
import Endpoints
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

/// Checks passwords as the static provider does; before it answers, other settings come into use.
private struct OvertakenProvider: PasswordProvider, UserDirectory {
    let base: StaticProvider
    let reload: @Sendable () -> Void

    func authenticate(
        identifier: String,
        password: Secret,
        from source: SignInSource
    ) async throws(NotDone) -> Authentication {
        let user = try await self.base.authenticate(identifier: identifier, password: password, from: source)
        self.reload()
        return user
    }

    func hasLostUser(of session: Session) -> Bool { self.base.hasLostUser(of: session) }

    func hasFormerPassword(_ session: Session) -> Bool { self.base.hasFormerPassword(session) }
}

@Suite("Passwords that change while they are checked")
struct FormerPasswordTests {
    /// What a reload makes of alice, whose password is being checked.
    enum Change: CaseIterable {
        case otherPassword, secondName, gone, none, otherTraits

        var refuses: Bool { self != .none && self != .otherTraits }

        func users(_ alice: UserSettings) throws -> [UserSettings] {
            var other = alice
            switch self {
            case .otherPassword: return [try Gateway.alice()]
            case .secondName:
                other = try Gateway.alice()
                other.identifier = "ally"
                return [alice, other]
            case .gone: return [try Gateway.alice(id: "another")]
            case .none: return [alice]
            case .otherTraits:
                other.traits = ["email": "al@example.com"]
                return [other]
            }
        }
    }

    enum Way: CaseIterable { case form, api, app }

    private func gateway(_ change: Change) throws -> Gateway {
        let known = KnownUsers()
        let alice = try Gateway.alice()
        let next = try change.users(alice)
        _ = known.adopt(FixedUsersSettings([alice]))
        let provider = OvertakenProvider(base: StaticProvider(users: [alice], known: known)) {
            _ = known.adopt(FixedUsersSettings(next))
        }
        return try Gateway(provider: provider, users: provider)
    }

    private func signIn(_ way: Way, at gateway: Gateway) async throws -> EndpointResponse {
        switch way {
        case .form: return try await gateway.post("/.sallyport/login", Gateway.credentials)
        case .api: return try await gateway.signInNative()
        case .app:
            let flow = try await gateway.send(
                "GET",
                "/self-service/login/api",
                query: [("return_session_token_exchange_code", "true"), ("return_to", "myapp://auth/callback")]
            )
            let id = try #require(flow.document?["id"]?.string)
            return try await gateway.post("/.sallyport/app", "flow=\(id)&\(Gateway.credentials)")
        }
    }

    @Test("No session begins with a password that is not the user's any more", arguments: Way.allCases, Change.allCases)
    func overtaken(way: Way, change: Change) async throws {
        let gateway = try self.gateway(change)
        let answer = try await self.signIn(way, at: gateway)
        guard change.refuses else {
            #expect(answer.status == (way == .api ? 200 : 303), "\(answer.text)")
            return
        }
        #expect(answer.status == (way == .api ? 400 : 422) && answer.reason == .signInRefused, "\(answer.text)")
        #expect(answer.value("location") == nil && answer.values("set-cookie").isEmpty)
        #expect(gateway.store.sessionCount == 0)
        let record = try #require(gateway.audit.records.last)
        #expect(record.account?.count == 22)
        #expect(record.reason == .signInRefused && record.subject == "9f1c" && record.auditEvent?.kind == .signInFailed)
        #expect(gateway.audit.records.allSatisfy { $0.act != .session(.signedIn, .web) })
        #expect(gateway.audit.records.allSatisfy { $0.act != .session(.signedIn, .native) })
    }

    @Test("The browser's former session ends as at each sign-in, and the refused one leaves none")
    func formerSession() async throws {
        let gateway = try self.gateway(.otherPassword)
        let former = try Gateway(beside: gateway, provider: StaticProvider(users: [try Gateway.alice()]))
        let cookie = try await former.signInBrowser()
        let answer = try await gateway.post("/.sallyport/login", Gateway.credentials, cookies: [cookie])
        #expect(answer.status == 422 && gateway.store.sessionCount == 0)
    }

    @Test("While the store is away, the refusal stays one, and the token is nobody's")
    func storeAway() async throws {
        let gateway = try self.gateway(.otherPassword)
        // The limits are not in the store: the session's creation follows a look for a block, and the end of it fails.
        gateway.store.change { ($0.failure, $0.callsBeforeFailure) = (.unavailable, 2) }
        let answer = try await gateway.post("/.sallyport/login", Gateway.credentials)
        #expect(answer.status == 422 && answer.values("set-cookie").isEmpty, "\(answer.text)")
    }
}
