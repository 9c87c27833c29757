import Sessions
import Settings
import Vocabulary

/// The limits of a user's sessions (`session.max_per_user`).
extension SessionService {
    /// Applies the limit to a session that was just written, before its token is handed out. Ends the user's oldest
    /// sessions of this kind, or refuses the new session. The caller must end a refused session.
    ///
    /// Only earlier sessions are counted, so that of two simultaneous sign-ins only the later one ends the other.
    ///
    /// - Parameter former: The ended sessions that the new session replaces. A session that replaces another one of its
    ///   user is never refused, because the number of sessions stays the same.
    /// - Throws: `session.limit` if the session is refused; an outage of the store.
    func admit(
        _ new: FoundSession,
        replacing former: [FoundSession] = [],
        for requester: Requester
    ) async throws(NotDone) {
        let limits = self.settings.maxPerUser
        guard new.session.isSignIn, let limit = new.session.kind == .web ? limits.browser : limits.native else {
            return
        }
        let users = UserSessions(sessions: self)
        let earlier = try await users.all(withUserOf: new).filter { found in
            found.session.isSignIn && found.session.kind == new.session.kind
                && found.session.lineage != new.session.lineage && found.session.began(before: new.session)
                // What a deleted client has is treated as ended, although the store has it.
                && self.users?.loss(of: found.session) != .sessionClientGone
        }
        // A browser's sessions on several hosts (tickets) are in one lineage, and count as one sign-in.
        let signIns = Dictionary(earlier.map { ($0.session.lineage, $0) }) { first, second in
            first.session.began(before: second.session) ? first : second
        }
        let surplus = signIns.count + 1 - limit
        guard surplus > 0 else { return }
        guard self.settings.onLimit == .endOldest else {
            if former.contains(where: { $0.session.isSignIn && $0.session.isLike(new.session) }) { return }
            throw NotDone(.sessionLimit)
        }
        let oldestFirst = signIns.values.sorted { $0.session.began(before: $1.session) }
        for oldest in oldestFirst.prefix(surplus) { try await users.end(oldest, admitting: new, for: requester) }
    }
}

extension Session {
    /// Whether the session began with a sign-in, not with a handoff and not as an online session (`isOnline`).
    fileprivate var isSignIn: Bool { self.isListed && self.origin == (self.kind == .web ? .browser : .native) }

    /// Returns whether both sessions are of one person and of one kind.
    fileprivate func isLike(_ other: Session) -> Bool {
        self.kind == other.kind && self.identity.isSamePerson(as: other.identity)
    }

    /// Returns whether this session began earlier. Sessions with equal times are ordered by id.
    fileprivate func began(before other: Session) -> Bool {
        (self.issuedAt, self.id) < (other.issuedAt, other.id)
    }
}
