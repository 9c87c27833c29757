import Sessions
import SignOn
import StoreBench
import TestSupport
import Vocabulary

/// A random walk of apps and browsers through mints, uses, confirmations, replays, sign-outs, lost answers and failovers,
/// during which the gateways do what the model does. The same seed walks the same way.
package struct HandoffWalk {
    private static let stepCount = 14
    private static let browserCount = 3

    private var numbers: SeededNumbers
    private var pair: HandoffPair
    private let users: [String]
    /// The session of each browser.
    private var browsers = [Int?](repeating: nil, count: Self.browserCount)
    private var trace: [String] = []

    private init(seed: UInt64, _ bench: HandoffWalkBench) {
        self.numbers = SeededNumbers(seed: seed)
        self.pair = HandoffPair(bench)
        // Users of their own, so that walks on one store do not meet.
        self.users = ["alice \(seed)", "bob \(seed)"]
    }

    /// Throws `Difference` with the seed and the steps.
    package static func run(seed: UInt64, on bench: HandoffWalkBench) async throws {
        var walk = HandoffWalk(seed: seed, bench)
        do {
            try await walk.run()
        } catch {
            throw Difference("walk \(seed): \(walk.trace.joined(separator: "; ")): \(error)")
        }
    }

    private mutating func run() async throws {
        for user in [self.users[0], self.users[0], self.users[1]] { try await self.pair.signInApp(user) }
        try await self.mint()
        for _ in 0..<Self.stepCount { try await self.step() }
        try await self.pair.compareSessions()
    }

    private mutating func pick<Element>(_ choices: [Element]) -> Element {
        choices[Int.random(in: choices.indices, using: &self.numbers)]
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self.numbers) < percent }

    private mutating func step() async throws {
        switch Int.random(in: 0..<100, using: &self.numbers) {
        case ..<25: try await self.mint()
        case ..<70: try await self.present()
        case ..<76: try await self.race()
        case ..<81: try await self.signInBrowser()
        case ..<86: try await self.signOutBrowser()
        case ..<89: try await self.signOutApp()
        case ..<91: try await self.signOutEverywhere()
        case ..<94: try await self.mintNested()
        case ..<97: try await self.wait()
        default: self.failOver()
        }
    }

    private mutating func mint() async throws {
        let app = self.pick(Array(self.pair.apps.indices))
        let place = self.pick(self.chance(70) ? [.home] : Place.allCases)
        let host = self.chance(80) ? nil : self.pick([HandoffWalkBench.host, "other.example.com"])
        self.trace.append("mint \(app) at \(place) for \(host ?? "all")")
        try await self.pair.mint(app, at: place, for: host)
    }

    private mutating func policy() -> HandoffPolicy {
        var policy = HandoffPolicy()
        policy.binding = self.pick(BindingMode.allCases)
        policy.isDryRun = self.chance(15)
        policy.burns = self.chance(70)
        policy.revokesDerived = self.chance(30)
        return policy
    }

    private mutating func presentation(existing: Int?) -> HandoffModel.Presentation {
        // The latest ones most of the time, or no token would be good for long.
        let all = Array(self.pair.tokens.indices)
        let token = self.pick(self.chance(60) ? Array(all.suffix(2)) : all)
        return HandoffModel.Presentation(
            token: token,
            existing: existing,
            place: self.pick(self.chance(70) ? [self.pair.model.tokens[token].place] : Place.allCases),
            host: HandoffWalkBench.host,
            policy: self.policy(),
            mayKeepSession: self.chance(80),
            now: self.pair.bench.clock.now
        )
    }

    private mutating func present() async throws {
        let browser = Int.random(in: 0..<Self.browserCount, using: &self.numbers)
        let given = self.presentation(existing: self.browsers[browser])
        let (isLost, gateway, isAsked) = (self.chance(20), self.chance(50) ? 0 : 1, self.chance(25))
        let isMissed = self.chance(15)
        self.trace.append(
            "browser \(browser) (\(given.existing.map(String.init) ?? "-")) presents \(given.token) at \(given.place), "
                + "\(given.policy)\(given.mayKeepSession ? "" : ", insufficient")"
                + "\(isAsked ? ", asked first" : "")\(isLost ? ", answer lost" : "")"
                + (isMissed ? ", misses a new token" : "")
        )
        self.browsers[browser] = try await self.pair.present(
            given,
            by: self.chance(50) ? .cookie : .query,
            confirms: isAsked,
            losesAnswer: isLost,
            missesRenewal: isMissed,
            gateway: gateway
        )
    }

    private mutating func race() async throws {
        var given = self.presentation(existing: nil)
        given.policy.revokesDerived = false
        // A failover in the middle of a race cannot be scripted.
        guard !self.pair.model.tokens[given.token].isOfFormerReign else { return }
        self.trace.append("browsers 0 and 1, without sessions, race for \(given.token), \(given.policy)")
        if let (winner, web) = try await self.pair.race(given) { self.browsers[winner] = web }
    }

    private mutating func signInBrowser() async throws {
        let browser = Int.random(in: 0..<Self.browserCount, using: &self.numbers)
        let user = self.pick(self.users)
        let life: Duration = self.chance(50) ? .seconds(86_400) : .seconds(1200)
        self.trace.append("browser \(browser) signs in as \(user) for \(life)")
        self.browsers[browser] = try await self.pair.signInBrowser(user, life: life)
    }

    private mutating func signOutBrowser() async throws {
        guard let web = self.pick(self.browsers) else { return }
        self.trace.append("session \(web) signs out")
        try await self.pair.signOut(web: web)
    }

    private mutating func signOutApp() async throws {
        let app = self.pick(Array(self.pair.apps.indices))
        self.trace.append("app \(app) signs out")
        try await self.pair.signOut(app: app)
    }

    private mutating func signOutEverywhere() async throws {
        let user = self.pick(self.users)
        self.trace.append("\(user) signs out everywhere")
        try await self.pair.signOut(everywhere: user)
    }

    private mutating func mintNested() async throws {
        guard !self.pair.webs.isEmpty else { return }
        let web = self.pick(Array(self.pair.webs.indices))
        self.trace.append("session \(web) asks for a token")
        try await self.pair.mintNested(web, at: .home)
    }

    private mutating func wait() async throws {
        let time = self.pick([Duration.seconds(20), .seconds(61)])
        self.trace.append("\(time) pass")
        self.pair.bench.clock.advance(by: time)
        try await self.pair.bench.tricks.pass(time)
    }

    private mutating func failOver() {
        guard self.pair.bench.tricks.quarantine != nil else { return }
        self.trace.append("failover")
        self.pair.model.failOver()
    }
}
