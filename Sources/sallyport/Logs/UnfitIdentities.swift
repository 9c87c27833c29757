import Logging
import RequestPath
import Sessions
import Settings
import Synchronization
import Vocabulary

/// Warns about values of users that cannot be sent to apps, once for each field and claim. Their requests are rejected,
/// or forwarded without the field. The lines never contain values.
final class UnfitIdentities: Sendable {
    private let profile: IdentityProfile
    /// Maps claims to traits; `nil` if the provider reports traits.
    private let claims: ClaimSettings?
    /// The text with which each line begins.
    private let place: String
    private let logger: Logger
    /// The problems that were already logged.
    private let said = Mutex<Set<UnfitValue>>([])

    /// - Parameter provider: The provider of the users; `nil` if none is configured.
    init(_ profile: IdentityProfile, _ provider: NamedProvider?, logger: Logger = Logger(label: "sallyport")) {
        self.profile = profile
        self.claims = provider?.settings.claimMapping
        self.place = provider.map { $0.name == Realm.default.name ? "provider" : "provider \($0.name)" } ?? "provider"
        self.logger = logger
    }

    /// Logs problems with a session's identity, unless they were logged before.
    func note(_ session: Session) {
        let news = self.profile.unfit(session).filter { unfit in self.said.withLock { $0.insert(unfit).inserted } }
        for unfit in news { self.logger.warning("\(self.place): \(self.words(unfit))") }
    }

    /// Describes all problems with a session's identity.
    func findings(of session: Session) -> [String] {
        self.profile.unfit(session).map { "\(self.place): \(self.words($0))" }
    }

    /// Describes a problem and what to do.
    private func words(_ unfit: UnfitValue) -> String {
        guard let field = unfit.field else {
            return "a user's identity.headers together are larger than identity.max_size, so the requests are refused "
                + "(identity.too_large): raise it, or keep fewer groups with claims.groups_only"
        }
        let trait = unfit.path.split(separator: ".").dropFirst(2).first
        let isTrait = unfit.path.hasPrefix("identity.traits.")
        let claim = isTrait ? self.claims.flatMap { claims in trait.map { claims.path(ofTrait: String($0)) } } : nil
        let source = claim.map { "\(unfit.path), from the claim \(ClaimSettings.text(of: $0))," } ?? unfit.path
        let member =
            claim.map { path in
                "use a member in claims.traits, such as \(ClaimSettings.text(of: path + ["name"])), or write "
                    + "\(ClaimSettings.text(of: path)){} for the names of its members"
            } ?? "use a member of it, such as \(unfit.path).name"
        switch unfit.fault {
        case .object: return "\(field) is missing: \(source) is an object: \(member)"
        case .listOfObjects:
            return
                "\(field) cannot be written, so the requests are refused (identity.unsafe_value): \(source) is a list of "
                + "objects: \(member)"
        case .unsafe, .size:
            return "\(field) cannot be written, so the requests are refused (identity.unsafe_value): \(source) has a "
                + "character that a field cannot carry, such as a line break, or the delimiter in an element"
        }
    }
}
