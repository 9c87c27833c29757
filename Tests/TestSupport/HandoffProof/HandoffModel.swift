import Settings
package import Vocabulary

/// The settings of a web client that decide about a token.
package struct HandoffPolicy: Sendable, Hashable, CustomStringConvertible {
    package var binding = BindingMode.ip
    package var isDryRun = false
    package var burns = true
    package var revokesDerived = false

    package init() {}

    var client: ClientSettings {
        var client = ClientSettings(clientID: "web-app")
        client.allowsCookie = true
        client.allowsQuery = true
        client.binding = self.binding
        client.bindingDryRun = self.isDryRun
        client.burnsOnMismatch = self.burns
        client.revokesDerivedOnReplay = self.revokesDerived
        return client
    }

    package var description: String {
        "\(self.binding.rawValue)\(self.isDryRun ? " dry" : "") \(self.burns ? "burn" : "keep")"
            + (self.revokesDerived ? " revoke_derived" : "")
    }
}

/// What the handoff does, as section 3 of the design says it, without stores, keys and attempts: apps, tokens and
/// sessions are numbers.
struct HandoffModel: Sendable {
    struct App: Sendable {
        let user: String
        var lives = true
    }

    enum TokenState: Sendable, Equatable {
        case live
        /// It made this session.
        case used(by: Int)
        /// It was used up by a browser that kept this session.
        case usedUp(keeping: Int)
        case burned
    }

    struct Token: Sendable {
        let app: Int
        let place: Place
        let host: String?
        let expiresAt: UnixTime
        var state = TokenState.live
        /// The store has failed over since it was minted.
        var isOfFormerReign = false
    }

    struct Web: Sendable {
        let user: String
        /// nil for a browser's own sign-in.
        var app: Int?
        var token: Int?
        let expiresAt: UnixTime
        var lives = true
        /// How many tokens came before its present one.
        var renewals = 0
        /// When its present token took the place of the one before it.
        var renewedAt = UnixTime(milliseconds: 0)
    }

    /// What may follow when a token is presented.
    enum Expectation: Sendable {
        /// The token makes this session.
        case signedIn(web: Int)
        /// Nothing happens; the browser keeps its session.
        case stays
        /// The browser keeps its session, and gets the token of it with this number: a new one, or one that it should have
        /// by now.
        case renewed(number: Int)
        case refused(Set<Reason>, endsExisting: Bool)
        /// Its app is gone, and with it what was known of the token: nobody is signed in.
        case nobody
    }

    /// A presented token.
    struct Presentation: Sendable {
        var token: Int
        var existing: Int?
        /// Which of the tokens of that session the browser has.
        var existingNumber = 0
        var place: Place
        var host: String
        var policy: HandoffPolicy
        var mayKeepSession = true
        var now: UnixTime
    }

    /// `session.transfer.absolute`
    static let transferredLife = Duration.seconds(1800)
    /// How long a session's former token serves.
    static let overlap = Duration.seconds(30)

    var apps: [App] = []
    var tokens: [Token] = []
    var webs: [Web] = []

    mutating func present(_ given: Presentation) -> Expectation {
        let token = self.tokens[given.token]
        let existing = given.existing.flatMap { self.presents($0, given.existingNumber, at: given.now) ? $0 : nil }
        if let existing, self.webs[existing].token == given.token { return .stays }
        guard self.apps[token.app].lives else { return .nobody }
        switch token.state {
        case .usedUp(let kept) where kept == existing:
            let latest = self.webs[kept].renewals
            return given.existingNumber < latest ? .renewed(number: latest) : .stays
        case .usedUp: return .refused([.handoffReplayed], endsExisting: false)
        case .used(let web):
            if given.policy.revokesDerived { self.webs[web].lives = false }
            return .refused([.handoffReplayed], endsExisting: false)
        case .burned: return .refused([.handoffBurned], endsExisting: false)
        case .live: return self.presentLive(given, token, existing)
        }
    }

    private mutating func presentLive(_ given: Presentation, _ token: Token, _ existing: Int?) -> Expectation {
        if given.now >= token.expiresAt { return .refused([.handoffExpired, .handoffUnknown], endsExisting: false) }
        if let host = token.host, host != given.host { return self.mismatch(given, [.handoffOtherHost]) }
        if !given.policy.binding.accepts(token.place, given.place), !given.policy.isDryRun {
            return self.mismatch(given, [.bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown])
        }
        if token.isOfFormerReign { return .refused([.handoffQuarantined], endsExisting: false) }
        let user = self.apps[token.app].user
        if let existing, self.webs[existing].user != user {
            self.tokens[given.token].state = .burned
            self.webs[existing].lives = false
            return .refused([.handoffOtherUser], endsExisting: true)
        }
        let expiresAt = given.now.advanced(by: Self.transferredLife)
        if let existing, given.mayKeepSession, self.webs[existing].expiresAt >= expiresAt {
            self.tokens[given.token].state = .usedUp(keeping: existing)
            if given.existingNumber == self.webs[existing].renewals {
                self.webs[existing].renewals += 1
                self.webs[existing].renewedAt = given.now
            }
            return .renewed(number: self.webs[existing].renewals)
        }
        if let existing { self.webs[existing].lives = false }
        self.webs.append(Web(user: user, app: token.app, token: given.token, expiresAt: expiresAt))
        self.tokens[given.token].state = .used(by: self.webs.count - 1)
        return .signedIn(web: self.webs.count - 1)
    }

    private mutating func mismatch(_ given: Presentation, _ reasons: Set<Reason>) -> Expectation {
        guard given.policy.burns else { return .refused(reasons, endsExisting: false) }
        if self.tokens[given.token].isOfFormerReign { return .refused([.handoffQuarantined], endsExisting: false) }
        self.tokens[given.token].state = .burned
        return .refused(reasons, endsExisting: false)
    }

    /// Whether a session lives, and its token with this number presents it.
    func presents(_ web: Int, _ number: Int, at now: UnixTime) -> Bool {
        let web = self.webs[web]
        guard web.lives else { return false }
        return number == web.renewals
            || (number == web.renewals - 1 && now < web.renewedAt.advanced(by: Self.overlap))
    }

    mutating func signOut(app: Int) {
        self.apps[app].lives = false
        for web in self.webs.indices where self.webs[web].app == app { self.webs[web].lives = false }
    }

    mutating func signOut(everywhere user: String) {
        for app in self.apps.indices where self.apps[app].user == user { self.apps[app].lives = false }
        for web in self.webs.indices where self.webs[web].user == user { self.webs[web].lives = false }
    }

    mutating func failOver() {
        for token in self.tokens.indices { self.tokens[token].isOfFormerReign = true }
    }
}
