import AddressIntelligence
import EndpointBench
import NIOCore
import NIOPosix
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import Testing
import Vocabulary

/// Sign-in over a memory store, with a clock that the test moves and a provider that knows alice.
struct SignInBench {
    static let password = "correct horse battery staple"
    static let host = "app.example.com"

    let time = MovableClock()
    let audit = Ledger()
    let store: MemoryStore
    let authority = TokenAuthority(secret: Secret("a secret of the tests"))
    let records: RecordAccess
    let sessions: SessionService
    let passwords: PasswordSignIn

    /// - Parameters:
    ///     - room: The number of sessions for which the store has room.
    init(
        provider: any PasswordProvider = SwitchedProvider(),
        limiter: (any RateLimiter)? = nil,
        room: Int = 1000
    ) {
        let (time, audit) = (self.time, self.audit)
        self.store = MemoryStore(maxSessions: room, maxMarkers: 1000, clock: time.clock, caches: SessionCaches())
        self.records = RecordAccess(
            store: self.store,
            authority: self.authority,
            loops: MultiThreadedEventLoopGroup.singleton,
            clock: time.clock
        )
        self.sessions = SessionService(
            records: self.records,
            settings: SessionSettings(),
            devices: DeviceObserver(directory: nil),
            journal: audit.journal
        )
        self.passwords = PasswordSignIn(
            sessions: self.sessions,
            provider: provider,
            limiter: limiter ?? LocalRateLimiter(clock: time.clock),
            familiar: FamiliarAddresses(),
            accounts: AccountNames(Secret("a secret of the tests"))
        )
    }

    func requester(
        from address: String = "192.0.2.1",
        host: String = SignInBench.host,
        cookies: [Secret] = []
    ) throws -> Requester {
        Requester(
            address: try #require(IPAddress(address)),
            userAgent: "Agent/1",
            authority: host,
            requestID: "r1",
            cookies: cookies
        )
    }

    /// One try with a password: alice's right one unless another is given.
    func attempt(
        _ identifier: String = "alice@example.com",
        _ password: String = SignInBench.password,
        kind: Session.Kind = .native,
        from address: String = "192.0.2.1",
        cookies: [Secret] = []
    ) async throws -> Result {
        let requester = try self.requester(from: address, cookies: cookies)
        do throws(NotDone) {
            _ = try await self.passwords.signIn(
                identifier: identifier,
                password: Secret(password),
                kind: kind,
                for: requester
            )
            return .signedIn
        } catch {
            return Result(error)
        }
    }

    /// The outcome in a form that can be compared, without the session's secrets.
    enum Result: Equatable {
        case signedIn
        case refused
        case denied(text: String?)
        case throttled(Duration)
        case unavailable(Reason)

        init(_ error: NotDone) {
            self =
                switch error.reason {
                case .ruleDenied: .denied(text: error.text)
                case .signInThrottled: .throttled(error.retryAfter ?? .zero)
                case let reason where error.isUnavailable: .unavailable(reason)
                default: .refused
                }
        }

        var isThrottled: Bool { if case .throttled = self { true } else { false } }
    }
}

/// Knows alice, unless it is unavailable.
final class SwitchedProvider: PasswordProvider {
    let isAway = Mutex(false)

    static let alice = Authentication(
        identity: Identity(id: "9f1c", traits: [:]),
        aal: .aal1,
        methods: ["password"]
    )

    func authenticate(
        identifier: String,
        password: Secret,
        from source: SignInSource
    ) async throws(NotDone) -> Authentication {
        if self.isAway.withLock({ $0 }) { throw NotDone(.providerUnavailable) }
        guard identifier == "alice@example.com", password == Secret(SignInBench.password) else {
            throw NotDone(.signInRefused)
        }
        return Self.alice
    }
}
