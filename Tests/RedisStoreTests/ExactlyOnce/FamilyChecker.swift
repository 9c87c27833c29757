import AddressIntelligence
import NIOCore
import Providers
import RedisServers
import Sessions
import Settings
import SignOn
import StoreBench
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// Clients that refresh their tokens without a pause, each with several requests at once, at two token services.
final class FamilyChecker: OnceChecker {
    /// So many that in a cluster each primary has some.
    private static let count = 8
    private static let runners = 6

    /// The refresh tokens of one sign-in.
    private struct Family {
        var token: Secret
        /// The tokens before it, the oldest first.
        var former: [Secret] = []
    }

    private struct State {
        var families: [Family] = []
        /// The tokens of families that a replay has ended.
        var ended: [Secret] = []
        var accepted = 0
    }

    private let services: [TokenService]
    private let state = Mutex(State())
    private let requester: TokenRequester

    init(_ pair: StorePair) {
        self.requester = TokenRequester(
            client: ClientSettings(clientID: "app"),
            sender: Requester(
                address: IPAddress(v4: 0xC000_0201),
                userAgent: nil,
                authority: "auth.example.com",
                requestID: "test"
            )
        )
        self.services = pair.stores.map { bench in
            TokenService(
                records: RecordAccess(
                    store: bench.store,
                    authority: bench.authority,
                    loops: loops,
                    clock: bench.clock
                ),
                refreshTokens: RefreshTokenAuthority(current: Secret("the secret of the refresh tokens")),
                apis: APIDirectory([]),
                lifetimes: SessionSettings().native,
                devices: DeviceObserver(directory: nil),
                limiter: ScriptedLimiter.open,
                journal: AuditJournal { _ in true }
            )
        }
    }

    var accepted: Int { self.state.withLock { $0.accepted } }

    func prepare() async throws {
        for _ in 0..<Self.count {
            let family = try await self.begin()
            self.state.withLock { $0.families.append(family) }
        }
        // A thief and a client have shown two generations of this one.
        let stolen = try await self.begin()
        var tokens = [stolen.token]
        for _ in 0..<2 { tokens.append(try await self.successor(of: tokens[tokens.count - 1])) }
        try await self.expectRefused(tokens[0])
        self.state.withLock { $0.ended += tokens }
    }

    private func begin() async throws -> Family {
        let now = Clock.system.now()
        let authentication = Authentication(
            identity: Identity(id: "alice", traits: [:]),
            aal: .aal1,
            methods: ["password"],
            authenticatedAt: now
        )
        let proven = ProvenUser(authentication, ProviderEvidence(provider: "kit"))
        let user = SocialUser(proven: proven, realm: .default, isOfProvider: false)
        var token: Secret?
        try await waitUntil("a sign-in") {
            token = try? await self.services[0]
                .begin(user, for: nil, scopes: [APIDirectory.offlineAccess], by: self.requester).refresh
            return token != nil
        }
        return Family(token: try #require(token))
    }

    func step(_ worker: Int) async {
        for family in stride(from: worker, to: Self.count, by: Deployment.workers) { await self.rotate(family) }
    }

    private func rotate(_ family: Int) async {
        let token = self.state.withLock { $0.families[family].token }
        let outcomes = await withTaskGroup(of: Result<IssuedTokens, NotDone>.self) { group in
            for runner in 0..<Self.runners { group.addTask { await self.refresh(token, runner, tries: 20) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var successors: Set<Secret> = []
        for outcome in outcomes {
            switch outcome {
            case .success(let tokens): if let refresh = tokens.refresh { successors.insert(refresh) }
            case .failure(let error) where error.mayPass: continue
            case .failure(let error): Issue.record("a client has lost its family: \(error.reason)")
            }
        }
        #expect(successors.count <= 1, "a token with several successors")
        guard let next = successors.first else { return }
        self.state.withLock { state in
            state.families[family].former.append(token)
            state.families[family].token = next
            state.accepted += 1
        }
    }

    /// A request that is repeated until it is answered.
    private func refresh(_ token: Secret, _ runner: Int, tries: Int) async -> Result<IssuedTokens, NotDone> {
        let service = self.services[runner % self.services.count]
        var error = NotDone(.storeUnavailable)
        for _ in 0..<tries {
            do throws(NotDone) {
                let wish = RefreshWish.access(audience: nil, scopes: nil)
                return .success(try await service.refresh(token, wish, for: self.requester))
            } catch let failure {
                error = failure
                guard failure.isUnavailable else { return .failure(failure) }
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return .failure(error)
    }

    private func successor(of token: Secret) async throws -> Secret {
        try #require(try await self.refresh(token, 0, tries: 1000).get().refresh)
    }

    /// Presents a token at both services at once.
    private func expectRefused(_ token: Secret) async throws {
        await withTaskGroup(of: Result<IssuedTokens, NotDone>.self) { group in
            for runner in 0..<Self.runners { group.addTask { await self.refresh(token, runner, tries: 1000) } }
            for await outcome in group {
                guard case .failure(let error) = outcome else {
                    Issue.record("a token that counts no more is accepted")
                    continue
                }
                #expect(error.reason == .refreshReplayed || error.reason == .refreshUnknown)
            }
        }
    }

    func verify() async throws {
        let (families, ended) = self.state.withLock { state in
            defer { (state.families, state.ended) = ([], []) }
            return (state.families, state.ended)
        }
        for token in ended { try await self.expectRefused(token) }
        for (number, family) in families.enumerated() {
            // A failover may have undone the last rotations, but none from now on.
            let next = try await self.successor(of: family.token)
            let last = try await self.successor(of: next)
            let used = [family.token] + family.former
            try await self.expectRefused(used[number % used.count])
            // Two had the family's tokens, so neither keeps it.
            for token in [last, next] { try await self.expectRefused(token) }
        }
    }
}
