package import Pages
import Providers
package import SignOn
import Vocabulary

/// A way to sign in on a host.
package struct SignInWay: Sendable {
    /// The kind of a way to sign in.
    package enum Kind: Sendable {
        /// The password form of the sign-in page.
        case password(PasswordSignIn)
        /// A provider that redirects the browser.
        case provider(BrowserSignInFlow)
        /// A provider's own pages. The gateway accepts the provider's cookie.
        case pages(ProviderPages)

        /// The service that starts the sessions of this way's users.
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
    /// The domains of the users' addresses, in ASCII and lower case. They select this way.
    let domains: [String]
    /// Returns whether the provider is known to be down.
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
    /// Returns the way for the domain of this address. Only the case of ASCII letters may differ. `nil` if no way lists
    /// the domain, or if the text is not an address.
    func way(ofAddress text: String) -> SignInWay? {
        guard let domain = EmailAddress(text)?.domain else { return nil }
        return self.first { $0.domains.contains { $0.utf8.elementsEqual(domain) } }
    }
}

/// The ways to sign in on a host, in the order of the settings. There is at least one way.
package struct SignInWays: Sendable {
    let all: [SignInWay]

    /// Creates the list of ways. `nil` if `all` is empty.
    package init?(_ all: [SignInWay]) {
        guard !all.isEmpty else { return nil }
        self.all = all
    }

    /// The only way. `nil` if there are several.
    var only: SignInWay? { self.all.count == 1 ? self.all[0] : nil }

    /// Whether the only way is a provider's own pages, whose cookie is valid on every host.
    package var usesProviderPages: Bool { if case .pages? = self.only?.kind { true } else { false } }

    /// Returns the ways that `demand` allows. Returns all ways if it allows none, because a user may have changed the
    /// link. A route or client that requires a provider checks the session as well.
    func meeting(_ demand: SignInDemand) -> [SignInWay] {
        let meeting = self.all.filter { demand.providers.contains($0.name) }
        return meeting.isEmpty ? self.all : meeting
    }

    /// The service that checks passwords. `nil` if no way has passwords.
    package var passwords: PasswordSignIn? {
        for way in self.all { if case .password(let passwords) = way.kind { return passwords } }
        return nil
    }

    /// The providers that redirect browsers back to a callback.
    var flows: [BrowserSignInFlow] {
        self.all.compactMap { way in if case .provider(let flow) = way.kind { flow } else { nil } }
    }
}

/// The cookie with the name of the way last used on this host. It contains nothing about the user.
struct LastWay: Sendable {
    private static let label = "way"
    /// The lifetime of the cookie in seconds, the longest that browsers allow (RFC 6265bis 5.5).
    private static let age = 400 * 86_400

    /// The name of the session cookie, with which this cookie's name begins.
    let sessionCookie: String

    /// Returns the way in the cookie. `nil` if there is no cookie, or if its way is not in `ways`.
    func way(of request: EndpointRequest, among ways: [SignInWay]) -> SignInWay? {
        guard let value = request.credentials.companion(Self.label) else { return nil }
        return ways.first { $0.name.utf8.elementsEqual(value.bytes) }
    }

    /// Returns the `Set-Cookie` field that records the way. Empty if the host has only one way.
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
