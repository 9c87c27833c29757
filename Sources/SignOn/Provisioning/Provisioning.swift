import Cryptography
package import Vocabulary

/// The values of a user that a SCIM request sets. `nil` for values that it leaves as they are.
package struct ProvisioningChange: Sendable, Hashable {
    package var externalID: String?
    package var userName: String?
    package var isActive: Bool?

    package init() {}
}

/// Carries out what a provider requests by SCIM: keeps the provider's users, and blocks the users that it deactivates
/// or deletes.
package struct Provisioning: Sendable {
    /// Somebody who makes a request with an operator's token of this name. `record` records that a user is blocked
    /// (true) or that the block is lifted (false), with the user's name in the store, made from `externalId`.
    package typealias Caller = (
        name: String, requester: Requester,
        record: @Sendable (_ isBlocked: Bool, _ subject: String) throws(NotDone) -> Void
    )

    /// The maximum number of tries to change a user whom others change at the same time.
    private static let tries = 8

    private let users: UserSessions
    private let provisioned: ProvisionedUsers
    private let match: ProvisioningMatch

    package init(users: UserSessions, provisioned: ProvisionedUsers, match: ProvisioningMatch) {
        self.users = users
        self.provisioned = provisioned
        self.match = match
    }

    /// Returns the user for whom the attribute has this value, or none. Without a filter, returns all users in the
    /// order of their ids.
    package func users(
        where filter: (attribute: ProvisionedAttribute, value: String)?
    ) async throws(NotDone) -> [ProvisionedUser] {
        guard let filter else { return try await self.provisioned.all(in: self.match.realm) }
        let name = filter.attribute.name(filter.value)
        return [try await self.provisioned.user(named: name, in: self.match.realm)].compactMap(\.self)
    }

    /// Returns the user with this id.
    ///
    /// - Throws: `scim.unknown`
    package func user(_ id: String) async throws(NotDone) -> ProvisionedUser {
        guard let user = try await self.provisioned.user(id, in: self.match.realm) else { throw NotDone(.scimUnknown) }
        return user
    }

    /// Creates or changes a user. A new user is active unless the request says otherwise. Making a user active lifts a
    /// block by SCIM, even from an earlier entry. A request that sets `active` to false ends everything that the user
    /// has, even if the user was inactive before, because an earlier request may have failed halfway.
    ///
    /// - Parameter id: The user's id. `nil` to create a user.
    /// - Throws: `scim.unknown`; `scim.exists` if another user has one of the names; `scim.invalid` if a name is
    ///   missing; `store.full`.
    package func save(
        _ change: ProvisioningChange,
        as id: String?,
        by caller: Caller
    ) async throws(NotDone) -> ProvisionedUser {
        for _ in 0..<Self.tries {
            var old: ProvisionedUser?
            if let id { old = try await self.user(id) }
            guard let userName = change.userName ?? old?.userName else { throw Self.missing("userName") }
            guard let externalID = change.externalID ?? old?.externalID else {
                throw Self.missing("externalId, which names the user at sign-in")
            }
            let new = ProvisionedUser(
                id: id ?? Random.base64URL(16),
                externalID: externalID,
                userName: userName,
                isActive: change.isActive ?? old?.isActive ?? true,
                revision: (old?.revision ?? 0) &+ 1
            )
            let isNamed = old?.externalID.isExactly(externalID) != true
            // A refused request must not block somebody else. A userName that is taken is refused after the block, so
            // that no leaver stays signed in for that reason.
            let name = ProvisionedAttribute.externalID.name(externalID)
            if isNamed, try await self.provisioned.user(named: name, in: self.match.realm) != nil {
                throw NotDone(.scimExists)
            }
            var blocks: [UserBlocks.Named] = []
            if isNamed || change.isActive != nil {
                if new.isActive {
                    let names = try await self.users.directory.names(of: externalID, by: self.match).all
                    blocks = try await self.users.records.blocks.deprovisioned(names)
                } else {
                    // The block comes first: a user who is stored as inactive is blocked.
                    try await self.block(externalID, by: caller)
                }
            }
            // A later deactivation would not find sessions under the former name.
            if isNamed, let old { try await self.end(old.externalID, by: caller) }
            guard try await self.provisioned.replace(old, with: new, in: self.match.realm) else { continue }
            // Blocks that were written after `blocks` was read belong to a later deactivation, and stay.
            if !blocks.isEmpty {
                try await self.users.records.blocks.reinstate(blocks, by: caller.name)
                try caller.record(false, self.match.realm.subject(externalID))
            }
            return new
        }
        throw NotDone(.storeUnavailable)
    }

    /// Forgets a user, and blocks the user as a deactivation does. The block lasts until the provider creates the user
    /// again, or an operator lifts it: the user may still have an account with which the provider would sign the user
    /// in.
    ///
    /// - Throws: `scim.unknown`
    package func delete(_ id: String, by caller: Caller) async throws(NotDone) {
        for _ in 0..<Self.tries {
            let user = try await self.user(id)
            try await self.block(user.externalID, by: caller)
            if try await self.provisioned.replace(user, with: nil, in: self.match.realm) { return }
        }
        throw NotDone(.storeUnavailable)
    }

    private static func missing(_ name: String) -> NotDone {
        NotDone(.scimInvalid, text: "The user has no \(name)", detail: "invalidValue")
    }

    private func block(_ externalID: String, by caller: Caller) async throws(NotDone) {
        try caller.record(true, self.match.realm.subject(externalID))
        var blocked: UserNames?
        for _ in 0..<Self.tries {
            let names = try await self.users.directory.names(of: externalID, by: self.match)
            // A sign-in notes its names first, and looks for blocks last. If it has missed the block, its names are
            // new.
            guard names != blocked else { return }
            blocked = names
            _ = try await self.users.block(
                names,
                as: externalID,
                of: self.match.realm == .default ? nil : self.match.realm.name,
                // This time has passed, which means that no operator blocks the user.
                until: self.users.sessions.clock.now(),
                note: nil,
                by: caller.name,
                isDeprovisioned: true,
                for: caller.requester
            )
        }
        throw NotDone(.storeUnavailable)
    }

    private func end(_ externalID: String, by caller: Caller) async throws(NotDone) {
        let names = try await self.users.directory.names(of: externalID, by: self.match)
        _ = try await self.users.endAll(of: names, by: caller.name, for: caller.requester)
    }
}
