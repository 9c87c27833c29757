import AddressIntelligence
import Sessions
import SignOn
import StoreBench
import Vocabulary

/// The gateways and the model, which are told the same and compared.
struct HandoffPair {
    let bench: HandoffWalkBench
    var model = HandoffModel()
    var apps: [HandoffWalkBench.Kept] = []
    var tokens: [Secret] = []
    /// The sessions of browsers, each with the token of it that its browser has.
    var webs: [HandoffWalkBench.Kept] = []
    /// All tokens of each of these sessions, the first one first.
    var webTokens: [[Secret]] = []

    init(_ bench: HandoffWalkBench) {
        self.bench = bench
    }

    // MARK: What happens on both sides

    mutating func signInApp(_ user: String) async throws {
        self.apps.append(try await self.bench.signIn(user))
        self.model.apps.append(HandoffModel.App(user: user))
    }

    mutating func signInBrowser(_ user: String, life: Duration = .seconds(86_400)) async throws -> Int {
        let kept = try await self.bench.signIn(user, kind: .web, life: life)
        self.note(kept)
        self.model.webs.append(HandoffModel.Web(user: user, expiresAt: kept.session.expiresAt))
        return self.webs.count - 1
    }

    /// Mints if the app's session lives; else expects a refusal.
    mutating func mint(_ app: Int, at place: Place, for host: String? = nil) async throws {
        let outcome = try await self.bench.mint(self.apps[app], at: place, for: host)
        switch (outcome, self.model.apps[app].lives) {
        case (.success(let minted), true):
            self.tokens.append(minted.token)
            self.model.tokens.append(
                HandoffModel.Token(
                    app: app,
                    place: place,
                    host: host,
                    expiresAt: self.bench.clock.now.advanced(by: minted.lifetime)
                )
            )
        case (.failure(let error), false) where error.reason == .sessionUnknown: break
        default: throw Difference("mint \(app): \(outcome)")
        }
    }

    /// Tries to mint with the token of a browser's session, which is never permitted (T23).
    func mintNested(_ web: Int, at place: Place) async throws {
        guard case .failure(let error) = try await self.bench.mint(self.webs[web], at: place) else {
            throw Difference("a browser's session \(web) has minted")
        }
        let isTransferred = self.model.webs[web].app != nil
        // A later token is nothing but a browser's.
        let isKnown = isTransferred && self.number(of: web) == 0 && self.model.webs[web].lives
        let expected: Reason = isKnown ? .handoffNested : .sessionUnknown
        guard error.reason == expected else { throw Difference("nested mint \(web): \(error.reason.rawValue)") }
    }

    /// Presents a token, and compares. With `losesAnswer`, the answer of the store is lost and the browser tries once
    /// more, at the other gateway: the result is the same. With `confirms`, the user is asked first, and says yes: that
    /// changes nothing, and whoever would not be signed in is not asked.
    ///
    /// - Parameter missesRenewal: Whether the gateway's answer is lost if it has a new token for the browser's session.
    /// - Returns: The session that the browser has afterwards.
    mutating func present(
        _ given: HandoffModel.Presentation,
        by transport: HandoffTransport = .cookie,
        confirms: Bool = false,
        losesAnswer: Bool = false,
        missesRenewal: Bool = false,
        gateway: Int
    ) async throws -> Int? {
        var given = given
        given.existingNumber = given.existing.map { self.number(of: $0) } ?? 0
        let (bench, token, attempt) = (self.bench, self.tokens[given.token], AttemptSecret())
        let existing = given.existing.map { self.webs[$0] }
        func request() async throws -> HandoffRequest {
            try await bench.request(
                token,
                by: existing,
                at: given.place,
                to: given.host,
                given.policy,
                by: transport,
                suffices: given.mayKeepSession,
                attempt: attempt
            )
        }
        let isOfFormerReign = self.model.tokens[given.token].isOfFormerReign
        // Only a use meets the quarantine.
        let isAsked = confirms && !isOfFormerReign
        if isAsked {
            switch try await bench.preview(try await request(), gateway: gateway + 1) {
            case .asks(let session):
                let user = self.model.apps[self.model.tokens[given.token].app].user
                guard session.subject == user else { throw Difference("it asks about \(session.subject)") }
            case .ended(let outcome): return try self.compare(outcome, given, missesRenewal: missesRenewal)
            }
        }
        if isOfFormerReign { self.bench.tricks.quarantine?(true) }
        if losesAnswer, !isOfFormerReign { self.bench.tricks.loseAnswer?(true) }
        var outcome = try await bench.present(try await request(), gateway: gateway)
        self.bench.tricks.quarantine?(false)
        self.bench.tricks.loseAnswer?(false)
        if case .unavailable = outcome { outcome = try await bench.present(try await request(), gateway: gateway + 1) }
        if isAsked {
            guard case .signedIn = outcome else { throw Difference("it asked, and then said \(outcome)") }
        }
        return try self.compare(outcome, given, missesRenewal: missesRenewal)
    }

    private mutating func compare(
        _ outcome: HandoffOutcome,
        _ given: HandoffModel.Presentation,
        missesRenewal: Bool = false
    ) throws -> Int? {
        let expected = self.model.present(given)
        switch (expected, outcome) {
        case (.signedIn(let web), .signedIn(let token, let session, let replaces)):
            try self.note(token, session, as: web, given)
            let former = given.existing.map { self.webs[$0].key }
            guard replaces == nil || replaces == former else { throw Difference("it replaced another session") }
            return web
        case (.stays, .alreadySignedIn): return given.existing
        case (.renewed(let number), .renewed(let token, let session, _)):
            guard let web = given.existing, session.id == self.webs[web].session.id else { break }
            try self.note(token, number: number, of: web, isMissed: missesRenewal)
            return web
        // What is left of the token says that the browser should have this one by now.
        case (.nobody, .renewed(let token, let session, _)):
            guard let web = given.existing, session.id == self.webs[web].session.id else { break }
            try self.note(token, number: self.model.webs[web].renewals, of: web, isMissed: missesRenewal)
            return web
        case (.refused(let reasons, let ends), .refused(let reason, let endsExisting)):
            guard reasons.contains(reason), ends == endsExisting else { break }
            return ends ? nil : given.existing
        case (.nobody, .refused(_, endsExisting: false)), (.nobody, .alreadySignedIn): return given.existing
        default: break
        }
        throw Difference("expected \(expected), and the gateway said \(outcome)")
    }

    /// A new session has the app's user, the browser's host and device, and nothing else of the app.
    private mutating func note(
        _ token: Secret,
        _ session: Session,
        as web: Int,
        _ given: HandoffModel.Presentation
    ) throws {
        let expected = self.model.webs[web]
        guard web == self.webs.count, session.subject == expected.user, session.expiresAt == expected.expiresAt,
            session.kind == .web, session.origin == .transfer, session.host == given.host, session.scopes.isEmpty,
            session.device?.address.description == given.place.rawValue
        else { throw Difference("the session is not the one expected: \(session)") }
        self.note(HandoffWalkBench.Kept(token: token, key: try self.bench.key(of: token), session: session))
    }

    /// The browser of a session gets its token with this number, unless it misses the answer.
    private mutating func note(_ token: Secret, number: Int, of web: Int, isMissed: Bool) throws {
        if number == self.webTokens[web].count { self.webTokens[web].append(token) }
        guard self.webTokens[web].last == token, number == self.webTokens[web].count - 1 else {
            throw Difference("it is not the token with the number \(number)")
        }
        if !isMissed { self.webs[web].token = token }
    }

    private mutating func note(_ web: HandoffWalkBench.Kept) {
        self.webs.append(web)
        self.webTokens.append([web.token])
    }

    /// Which of the tokens of a session its browser has.
    private func number(of web: Int) -> Int { self.webTokens[web].firstIndex(of: self.webs[web].token) ?? 0 }

    /// Two browsers without a session present a token at the two gateways at the same time.
    ///
    /// - Returns: Which of them has won, and its session.
    mutating func race(_ given: HandoffModel.Presentation) async throws -> (browser: Int, web: Int)? {
        let (bench, token) = (self.bench, self.tokens[given.token])
        @Sendable func present(_ gateway: Int) async throws -> HandoffOutcome {
            let request = try await bench.request(token, by: nil, at: given.place, to: given.host, given.policy)
            return try await bench.present(request, gateway: gateway)
        }
        async let first = present(0)
        async let second = present(1)
        var outcomes = [try await first, try await second]
        let isReversed: Bool
        // The one that came second met the other's refusal.
        if case .refused(.handoffBurned, _) = outcomes[0], self.model.tokens[given.token].state == .live {
            isReversed = true
            outcomes.reverse()
        } else {
            isReversed = false
        }
        let winners = outcomes.indices.filter { if case .signedIn = outcomes[$0] { true } else { false } }
        guard let winner = winners.first else {
            for outcome in outcomes { _ = try self.compare(outcome, given) }
            return nil
        }
        guard let web = try self.compare(outcomes[winner], given) else {
            throw Difference("a winner without a session")
        }
        // The loser is a replay now.
        _ = try self.compare(outcomes[1 - winner], given)
        return (isReversed ? 1 - winner : winner, web)
    }

    mutating func signOut(app: Int) async throws {
        try await self.bench.end(self.apps[app])
        self.model.signOut(app: app)
    }

    mutating func signOut(web: Int) async throws {
        try await self.bench.end(self.webs[web])
        self.model.webs[web].lives = false
    }

    mutating func signOut(everywhere user: String) async throws {
        try await self.bench.end(everywhere: user)
        self.model.signOut(everywhere: user)
    }

    // MARK: Afterwards

    /// Compares which sessions live, and which tokens present those of browsers.
    func compareSessions() async throws {
        for app in self.apps.indices where try await self.bench.lives(self.apps[app].key) != self.model.apps[app].lives
        {
            throw Difference("app \(app) should \(self.model.apps[app].lives ? "live" : "have ended")")
        }
        for web in self.webs.indices where try await self.bench.lives(self.webs[web].key) != self.model.webs[web].lives
        {
            throw Difference("session \(web) should \(self.model.webs[web].lives ? "live" : "have ended")")
        }
        for web in self.webs.indices {
            for (number, token) in self.webTokens[web].enumerated() {
                let expected = self.model.presents(web, number, at: self.bench.clock.now)
                guard try await self.bench.isPresented(self.webs[web].key, by: token) == expected else {
                    throw Difference("token \(number) of session \(web) should be \(expected ? "good" : "refused")")
                }
            }
        }
    }
}
