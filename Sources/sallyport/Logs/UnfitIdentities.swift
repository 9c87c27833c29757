import Logging
import RequestPath
import Sessions
import Settings
import Synchronization
import Vocabulary

/// Says in the log, once for each field, what of the users who sign in cannot be in the fields for apps: whom it concerns
/// meets refusals, or an app without the field, and nothing else tells why. It names fields and claims, and never a value.
final class UnfitIdentities: Sendable {
    private let profile: IdentityProfile
    /// The claims of which the traits are made; nil: the provider has traits itself.
    private let claims: ClaimSettings?
    /// Begins each line.
    private let place: String
    private let logger: Logger
    /// What was said since the configuration was loaded.
    private let said = Mutex<Set<UnfitValue>>([])

    /// - Parameter provider: The provider of the users; nil: there is none.
    init(_ profile: IdentityProfile, _ provider: NamedProvider?, logger: Logger = Logger(label: "sallyport")) {
        self.profile = profile
        self.claims = provider?.settings.claimMapping
        self.place = provider.map { $0.name == Realm.default.name ? "provider" : "provider \($0.name)" } ?? "provider"
        self.logger = logger
    }

    /// Looks at the identity of a session that begins, or that a provider vouches for.
    func note(_ session: Session) {
        let news = self.profile.unfit(session).filter { unfit in self.said.withLock { $0.insert(unfit).inserted } }
        for unfit in news { self.logger.warning("\(self.place): \(self.words(unfit))") }
    }

    /// What of a session cannot be in its field, as the log would say it.
    func findings(of session: Session) -> [String] {
        self.profile.unfit(session).map { "\(self.place): \(self.words($0))" }
    }

    /// What is wrong, and how to mend it.
    private func words(_ unfit: UnfitValue) -> String {
        guard let field = unfit.field else {
            return "a user's identity.headers together are larger than identity.max_size, so the requests are refused "
                + "(identity.too_large): raise it, or keep fewer groups by claims.groups_only"
        }
        let trait = unfit.path.split(separator: ".").dropFirst(2).first
        let isTrait = unfit.path.hasPrefix("identity.traits.")
        let claim = isTrait ? self.claims.flatMap { claims in trait.map { claims.path(ofTrait: String($0)) } } : nil
        let source = claim.map { "\(unfit.path), from the claim \(ClaimSettings.text(of: $0))," } ?? unfit.path
        let member =
            claim.map { path in
                "name a member in claims.traits, such as \(ClaimSettings.text(of: path + ["name"])), or write "
                    + "\(ClaimSettings.text(of: path)){} for the names of its members"
            } ?? "name a member of it, such as \(unfit.path).name"
        switch unfit.fault {
        case .object: return "\(field) is missing: \(source) is an object: \(member)"
        case .listOfObjects:
            return
                "\(field) cannot be written, so the requests are refused (identity.unsafe_value): \(source) is a list of "
                + "objects: \(member)"
        case .unsafe, .size:
            return "\(field) cannot be written, so the requests are refused (identity.unsafe_value): \(source) has a "
                + "character that a field cannot give back, such as a line break, or the delimiter in an element"
        }
    }
}
