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
    /// Somebody who makes a request with an operator's token.
    package struct Caller: Sendable {
        let name: String
        let requester: Requester
        /// Records that a user is blocked (true) or that the block is lifted (false). The text is the user's name in
        /// the store, made from `externalId`.
        let record: @Sendable (Bool, String) throws(NotDone) -> Void

        package init(
            name: String,
            requester: Requester,
            record: @escaping @Sendable (_ isBlocked: Bool, _ subject: String) throws(NotDone) -> Void
        ) {
            self.name = name
            self.requester = requester
            self.record = record
        }
    }

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

    /// Returns all users, in the order of their ids.
    package func all() async throws(NotDone) -> [ProvisionedUser] {
        try await self.provisioned.all(in: self.match.realm)
    }

    /// Returns the user for whom the attribute has this value. `nil` if none exists.
    package func user(
        where attribute: ProvisionedAttribute,
        is value: String
    ) async throws(NotDone) -> ProvisionedUser? {
        try await self.provisioned.user(where: attribute, is: value, in: self.match.realm)
    }

    /// Returns the user with this id.
    ///
    /// - Throws: `scim.unknown`
    package func user(_ id: String) async throws(NotDone) -> ProvisionedUser {
        guard let user = try await self.provisioned.user(id, in: self.match.realm) else { throw NotDone(.scimUnknown) }
        return user
    }

    /// Creates a user, active unless the request says otherwise. The user may have been blocked under an earlier entry.
    ///
    /// - Throws: `scim.exists`; `scim.invalid` if a name is missing; `store.full`.
    package func create(_ change: ProvisioningChange, by caller: Caller) async throws(NotDone) -> ProvisionedUser {
        guard let externalID = change.externalID, let userName = change.userName else {
            let missing = change.userName == nil ? "userName" : "externalId, which names the user at sign-in"
            throw NotDone(.scimInvalid, text: "The user has no \(missing)", detail: "invalidValue")
        }
        for (attribute, value) in [(ProvisionedAttribute.userName, userName), (.externalID, externalID)] {
            if try await self.user(where: attribute, is: value) != nil { throw NotDone(.scimExists) }
        }
        let draft = ProvisionedUser(
            id: "",
            externalID: externalID,
            userName: userName,
            isActive: change.isActive ?? true
        )
        if !draft.isActive { try await self.block(externalID, by: caller) }
        let user = try await self.provisioned.add(draft, in: self.match.realm)
        if user.isActive { try await self.reinstate(user, by: caller) }
        return user
    }

    /// Changes a user. A request that sets `active` to false ends everything that the user has, even if the user was
    /// inactive before, because an earlier request may have failed halfway.
    ///
    /// - Throws: `scim.unknown`; `scim.exists` if another user has one of the new names.
    package func change(
        _ id: String,
        _ change: ProvisioningChange,
        by caller: Caller
    ) async throws(NotDone) -> ProvisionedUser {
        for _ in 0..<Self.tries {
            let old = try await self.user(id)
            var new = old
            if let externalID = change.externalID { new.externalID = externalID }
            if let userName = change.userName { new.userName = userName }
            if let isActive = change.isActive { new.isActive = isActive }
            let isRenamed = !new.externalID.isExactly(old.externalID)
            // A refused request must not block somebody else.
            if isRenamed, try await self.user(where: .externalID, is: new.externalID) != nil {
                throw NotDone(.scimExists)
            }
            // The block comes first: a user who is stored as inactive is blocked.
            if change.isActive == false || (isRenamed && !new.isActive) {
                try await self.block(new.externalID, by: caller)
            }
            guard let user = try await self.provisioned.replace(old, with: new, in: self.match.realm) else { continue }
            if user.isActive, change.isActive == true || isRenamed { try await self.reinstate(user, by: caller) }
            if isRenamed, !old.isActive { try await self.lift(old.externalID, by: caller) }
            return user
        }
        throw NotDone(.storeUnavailable)
    }

    /// Forgets a user, and blocks the user as a deactivation does. The block lasts until the provider creates the user
    /// again, or an operator lifts it: the user may still have an account with which the provider would sign the user
    /// in.
    ///
    /// - Throws: `scim.unknown`
    package func delete(_ id: String, by caller: Caller) async throws(NotDone) {
        let user = try await self.user(id)
        try await self.block(user.externalID, by: caller)
        try await self.provisioned.remove(user, in: self.match.realm)
    }

    // MARK: Blocks

    private func block(_ externalID: String, by caller: Caller) async throws(NotDone) {
        try caller.record(true, self.match.realm.subject(externalID))
        var blocked = UserNames(own: [], accounts: [])
        while true {
            let names = try await self.users.directory.names(of: externalID, by: self.match)
            // A sign-in notes its names first, and looks for blocks last. If it has missed the block, its names are
            // new.
            guard names != blocked else { return }
            blocked = names
            _ = try await self.users.block(
                names,
                as: externalID,
                of: self.match.realm == .default ? nil : self.match.realm.name,
                // No operator blocks the user.
                until: self.users.sessions.clock.now(),
                note: nil,
                by: caller.name,
                isDeprovisioned: true,
                for: caller.requester
            )
        }
    }

    /// Lifts the block of an active user. If the user was deactivated in the meantime, the block is written again.
    private func reinstate(_ user: ProvisionedUser, by caller: Caller) async throws(NotDone) {
        try await self.lift(user.externalID, by: caller)
        let present = try await self.provisioned.user(user.id, in: self.match.realm)
        if present?.isActive != true { try await self.block(user.externalID, by: caller) }
    }

    private func lift(_ externalID: String, by caller: Caller) async throws(NotDone) {
        let names = try await self.users.directory.names(of: externalID, by: self.match).all
        guard try await self.users.records.blocks.reinstate(names, by: caller.name) else { return }
        try caller.record(false, self.match.realm.subject(externalID))
    }
}
