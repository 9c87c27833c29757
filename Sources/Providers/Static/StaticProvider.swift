import Cryptography
package import Sessions
package import Settings
package import Vocabulary

/// Users in the settings, for demos and tests. Allowed on loopback only, unless a flag permits more.
package struct StaticProvider: PasswordProvider, UserDirectory {
    /// The maximum length of a password in bytes. It limits the work of hashing.
    private static let longestPassword = 1024
    private static let methods = ["password"]

    private let users: [UserIdentifier: UserSettings]
    private let hashes: [String: Set<Secret>]
    /// The traits of each id. A user with several identifiers has the same traits under each.
    private let traits: [String: JSONDocument]
    private let known: KnownUsers?
    /// Hashes that are verified for unknown identifiers. They cost as much as the users' hashes, so the time is equal.
    private let decoys: [Secret]
    private let workers: PasswordWorkers

    /// - Parameters:
    ///   - users: The users. If two have the same identifier, the first one is used; the settings reject that.
    ///   - known: The users of the current settings of the process; `nil` if `users` never change.
    ///   - workers: Runs the hashing. Shared by the whole process.
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
        // Each unknown identifier has one decoy, as each known identifier has one hash.
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

    /// Returns the password as typed, and in the Unicode form of other keyboards, because the hash may be of either.
    /// The number of forms depends only on the password, so it does not reveal whether the user exists.
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

    /// Returns whether a session is of this provider. Sessions of other providers name them, or have another method.
    package static func isOfOwn(_ session: Session) -> Bool {
        session.provider == nil && session.methods == Self.methods
    }
}
