import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// Users from the configuration, with password hashes. For demo and tests, on loopback unless a flag permits more.
package struct StaticProvider: PasswordProvider, UserDirectory {
    /// The maximum length of a password in bytes. Longer passwords would let an attacker choose the amount of hashing.
    private static let longestPassword = 1024
    private static let methods = ["password"]

    private let users: [UserIdentifier: UserSettings]
    private let hashes: [String: Set<Secret>]
    /// The traits of each id. One user may have several names, with the same traits.
    private let traits: [String: JSONDocument]
    private let known: KnownUsers?
    /// Hashes that are verified for unknown users. They belong to no user and cost as much as the users' hashes, so
    /// that the work is equal.
    private let decoys: [Secret]
    private let workers: PasswordWorkers

    /// - Parameters:
    ///   - users: The users. If two users have one identifier, the first is used. The settings refuse that.
    ///   - known: The users in the process's current settings. `nil` if `users` never change.
    ///   - workers: Runs all hashing of passwords in the process.
    package init(users: [UserSettings], known: KnownUsers? = nil, workers: PasswordWorkers = PasswordWorkers()) {
        self.users = Dictionary(
            users.compactMap { user in UserIdentifier(user.identifier).map { ($0, user) } },
            uniquingKeysWith: { first, _ in first }
        )
        self.hashes = KnownUsers.hashes(of: users)
        self.traits = Dictionary(
            users.map { ($0.ownID, JSONDocument($0.traits)) },
            uniquingKeysWith: { first, _ in first }
        )
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
        // An unknown identifier always gets one decoy, as a known identifier always gets its user's hash.
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

    /// Returns the password as typed, and as another keyboard would have sent it, because the hash may be of either
    /// spelling. The number of spellings depends only on the password.
    private static func spellings(of password: Secret) -> [[UInt8]] {
        let twin = String(validating: password.bytes, as: UTF8.self)?.twin
        return [password.bytes] + (twin.map { [Array($0.utf8)] } ?? [])
    }

    package func hasLostUser(of session: Session) -> Bool {
        Self.isOfOwn(session) && self.hashes[session.identity.idAtProvider] == nil
    }

    package func update(of session: Session) -> Session? {
        guard Self.isOfOwn(session), let traits = self.traits[session.identity.idAtProvider],
            traits != session.identity.traitsDocument
        else { return nil }
        var session = session
        session.identity.traitsDocument = traits
        return session
    }

    package func hasFormerPassword(_ session: Session) -> Bool {
        guard let known, Self.isOfOwn(session) else { return false }
        return known.hashes(of: session.identity.idAtProvider) != self.hashes[session.identity.idAtProvider]
    }

    /// Returns whether a session is of this provider. Other sessions have a named provider or another method
    /// (`native_social`).
    private static func isOfOwn(_ session: Session) -> Bool {
        session.provider == nil && session.methods == Self.methods
    }
}
