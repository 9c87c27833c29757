package import Pages
import Providers
package import SignOn
import Vocabulary

/// One of the ways in which the browsers of a host sign in.
package struct SignInWay: Sendable {
    /// How it goes.
    package enum Kind: Sendable {
        /// With the form of the sign-in page.
        case password(PasswordSignIn)
        /// At a provider that redirects the browser.
        case provider(BrowserSignInFlow)
        /// At the pages of a provider whose own cookie the gateway accepts.
        case pages(ProviderPages)

        /// By which its users' sessions begin.
        var sessions: SessionService {
            switch self {
            case .password(let passwords): passwords.sessions
            case .provider(let flow): flow.sessions
            case .pages(let pages): pages.sessions
            }
        }
    }

    /// The provider's name in the settings.
    let name: String
    let kind: Kind
    let button: ProviderButton
    /// The domains of its users' addresses, in ASCII and in lower case.
    let domains: [String]
    /// Whether the provider is known not to answer at the moment.
    let isAway: @Sendable () -> Bool

    package init(
        _ kind: Kind,
        name: String,
        button: ProviderButton,
        domains: [String] = [],
        isAway: @escaping @Sendable () -> Bool = { false }
    ) {
        self.kind = kind
        self.name = name
        self.button = button
        self.domains = domains
        self.isAway = isAway
    }
}

extension [SignInWay] {
    /// The way of the users whose addresses have the domain of this one: exactly, but for the case of ASCII letters. nil:
    /// none lists it, or the text is no address.
    func way(ofAddress text: String) -> SignInWay? {
        guard let domain = EmailAddress(text)?.domain else { return nil }
        return self.first { $0.domains.contains { $0.utf8.elementsEqual(domain) } }
    }
}

/// The ways in which the browsers of a host sign in, in the order of its settings; at least one.
package struct SignInWays: Sendable {
    let all: [SignInWay]

    /// nil: there is none.
    package init?(_ all: [SignInWay]) {
        guard !all.isEmpty else { return nil }
        self.all = all
    }

    /// The only way; nil: the user chooses among several.
    var only: SignInWay? { self.all.count == 1 ? self.all[0] : nil }

    /// Whether users sign in at nothing but pages of a provider whose own cookie counts on every host.
    package var areProvidersPages: Bool { if case .pages? = self.only?.kind { true } else { false } }

    /// Those that a demand leaves; all of them if it leaves none, as for a link that somebody has changed: what demands a
    /// provider judges whose session it gets.
    func meeting(_ demand: SignInDemand) -> [SignInWay] {
        let meeting = self.all.filter { demand.providers.contains($0.name) }
        return meeting.isEmpty ? self.all : meeting
    }

    /// What checks passwords; nil: no way does.
    package var passwords: PasswordSignIn? {
        for way in self.all { if case .password(let passwords) = way.kind { return passwords } }
        return nil
    }

    /// The sign-ins from which browsers come back.
    var flows: [BrowserSignInFlow] {
        self.all.compactMap { way in if case .provider(let flow) = way.kind { flow } else { nil } }
    }
}

/// The cookie in which a browser keeps the way by which its user signed in last on this host: the provider's name and
/// nothing of the user.
struct LastWay: Sendable {
    private static let label = "way"
    /// As long as browsers keep a cookie (RFC 6265bis 5.5), in seconds.
    private static let age = 400 * 86_400

    /// The name of the session cookie, with which the name of this one begins.
    let sessionCookie: String

    /// The way that the browser has kept; nil: none, or one that the host does not have.
    func way(of request: EndpointRequest, among ways: [SignInWay]) -> SignInWay? {
        guard let value = request.credentials.companion(Self.label) else { return nil }
        return ways.first { $0.name.utf8.elementsEqual(value.bytes) }
    }

    /// The `Set-Cookie` field that notes the way; nothing where there is only one.
    func note(_ name: String?, among ways: SignInWays, _ request: EndpointRequest) -> [(name: String, value: String)] {
        guard let name, ways.only == nil else { return [] }
        let cookie = SessionCookie(
            name: "\(self.sessionCookie)-\(Self.label)",
            reach: request.cookieReach,
            maxAge: Self.age
        )
        return [("set-cookie", cookie.setting(Secret(name)))]
    }
}
