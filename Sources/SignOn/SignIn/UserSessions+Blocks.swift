import Sessions
package import Vocabulary

/// Blocks of users, as operators and SCIM set them, and operators lift them.
extension UserSessions {
    /// Blocks a user, and ends all sessions and tokens of the user. A repeated call changes the block.
    ///
    /// - Parameters:
    ///   - names: The user's names. The other names of the user's accounts are added.
    ///   - subject: The user's id, as lists show it.
    ///   - provider: The name of the user's provider, as lists show it. `nil` if the id alone identifies the user.
    ///   - end: The time when the user may sign in again. `nil` if the block lasts until it is lifted.
    ///   - operator: The operator who blocks the user.
    ///   - isDeprovisioned: True if SCIM blocks the user. An operator's block stays beside it.
    /// - Returns: The block. `hasEnded` is false if the user is known to have had no session.
    package func block(
        _ names: UserNames,
        as subject: String,
        of provider: String?,
        until end: UnixTime?,
        note: String?,
        by operator: String,
        isDeprovisioned: Bool = false,
        for requester: Requester
    ) async throws(NotDone) -> (block: UserBlock, hasEnded: Bool) {
        var names = names
        for account in names.accounts { names.add(try await self.names(ofAccount: account)) }
        guard names.all.allSatisfy({ $0.utf8.count <= DocumentKey.longestID }) else {
            throw NotDone(.requestParameters)
        }
        let block = UserBlock(
            subject: subject,
            provider: provider,
            names: names.all,
            until: end,
            note: note,
            changedAt: self.clock.now(),
            changedBy: `operator`,
            isDeprovisioned: isDeprovisioned
        )
        // A sign-in that does not see the block has written its session before `endAll`. Later sign-ins see the block.
        do throws(NotDone) {
            try await self.records.blocks.put(block)
        } catch {
            // Without room for the block, the user is at least signed out.
            if error.reason == .storeFull { _ = try await self.endAll(of: names, by: `operator`, for: requester) }
            throw error
        }
        return (block, try await self.endAll(of: names, by: `operator`, for: requester))
    }

    /// Lifts the blocks of the user with these names. Succeeds even if no block exists.
    package func unblock(_ names: UserNames, by operator: String) async throws(NotDone) {
        try await self.records.blocks.lift(names.all, by: `operator`)
    }

    /// Returns the blocks that are in force, one for each blocked user.
    package func blocks() async throws(NotDone) -> [UserBlock] { try await self.records.blocks.all() }
}
