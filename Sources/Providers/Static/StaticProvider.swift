import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// Users from the configuration, with password hashes: for the demo and tests, only on loopback unless a flag permits
/// more.
package struct StaticProvider: PasswordProvider, UserDirectory {
    /// The longest password in bytes; a longer one would let an attacker choose the amount of hashing.
    private static let longestPassword = 1024
    /// How its users authenticate.
    private static let methods = ["password"]

    private let users: [UserIdentifier: UserSettings]
    private let hashes: [String: Set<Secret>]
    private let known: KnownUsers?
    /// Hashes that are verified for unknown users: they belong to no user and have the cost of known users' hashes, so
    /// that the work is the same.
    private let decoys: [Secret]
    private let workers: PasswordWorkers

    /// - Parameters:
    ///   - users: Settings refuse identifiers that stand for the same user; if there were such, the first would be used.
    ///   - known: The users of the settings that the process uses now; nil: these, as long as there is a process.
    ///   - workers: Runs the hashing; shared by everything in the process that hashes passwords.
    package init(users: [UserSettings], known: KnownUsers? = nil, workers: PasswordWorkers = PasswordWorkers()) {
        self.users = Dictionary(
            users.compactMap { user in UserIdentifier(user.identifier).map { ($0, user) } },
            uniquingKeysWith: { first, _ in first }
        )
        self.hashes = KnownUsers.hashes(of: users)
        self.known = known
        let hashes = users.map(\.passwordHash)
        self.decoys = (hashes.isEmpty ? [Secret("")] : hashes).map(PasswordHash.decoy(like:))
        self.workers = workers
    }

    package func hasRoom(for source: SignInSource) -> Bool { self.workers.hasPlace(for: source) }

    package func authenticate(
        identifier: String,
        password: Secret,
        from source: SignInSource
    ) async throws(NotDone) -> Authentication {
        let identifier = UserIdentifier(identifier)
        let user = identifier.flatMap { self.users[$0] }
        // The same unknown identifier always gets the same decoy, as a known one always gets its own hash.
        let decoy = self.decoys[Int(UInt(bitPattern: identifier.hashValue) % UInt(self.decoys.count))]
        let isTooLong = password.bytes.count > Self.longestPassword
        let spellings = isTooLong ? [[]] : Self.spellings(of: password)
        let verified = await self.workers.run(for: source) {
            spellings.contains { PasswordHash.verify(password: $0, encoded: user?.passwordHash ?? decoy) }
        }
        guard let verified else { throw NotDone(.providerUnavailable) }
        guard verified, !isTooLong, let user else { throw NotDone(.signInRefused) }
        return Authentication(
            identity: Identity(id: user.id, traits: user.traits).called(user.ownID),
            aal: user.aal,
            methods: Self.methods
        )
    }

    /// The password as it was typed, and as another keyboard would have sent it: the hash was made from one of them. How many
    /// there are depends on the password alone.
    private static func spellings(of password: Secret) -> [[UInt8]] {
        let twin = String(validating: password.bytes, as: UTF8.self)?.twin
        return [password.bytes] + (twin.map { [Array($0.utf8)] } ?? [])
    }

    package func hasLostUser(of session: Session) -> Bool {
        Self.isOfOwn(session) && self.hashes[session.identity.idAtProvider] == nil
    }

    package func hasFormerPassword(_ session: Session) -> Bool {
        guard let known, Self.isOfOwn(session) else { return false }
        return known.hashes(of: session.identity.idAtProvider) != self.hashes[session.identity.idAtProvider]
    }

    /// Other users than those of the settings have a provider that is named, or another method (`native_social`).
    private static func isOfOwn(_ session: Session) -> Bool {
        session.provider == nil && session.methods == Self.methods
    }
}
