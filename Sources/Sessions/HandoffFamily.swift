import Cryptography
package import NIOCore
package import Vocabulary

/// The record of a root session and the sessions and access tokens that end with it, while the lineage continues.
///
/// For example, a transfer token creates a browser session in the lineage of the native session, and tickets extend it
/// to other hosts. A sign-out in the browser ends the sessions on all hosts, but not the native session. The key of the
/// record is derived from the key of the root. All members store the root's key (`Session.bornOf`).
package struct HandoffFamily: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "w")) }
    /// The longest life of a session.
    package static var longestLife: Duration { .seconds(366 * 86_400) }

    /// The maximum number of members. If there are more, the oldest member ends.
    static let capacity = 64

    /// The sessions, the oldest first, without the root.
    package fileprivate(set) var members: [RecordKey]
    package let terms: RecordTerms

    /// Returns the record of a family that begins with `root` and already contains `member`.
    ///
    /// - Parameter root: The first session, which is written in the same step.
    package static func record(of member: RecordKey, root: NewSession) -> NewRecord {
        var family = HandoffFamily(root: root.session)
        family.members.append(member)
        return .replaceable(Self.key(root: root.key), family)
    }

    /// Returns the key of the family's record.
    static func key(root: RecordKey) -> RecordKey {
        RecordKey(kind: Self.kind, lineage: root.lineage, digest: root.digest)
    }

    package func write(to writer: inout CompactWriter) {
        writer.write(list: self.members) { $0.write($1) }
        writer.write(self.terms.since)
        writer.write(self.terms.expiresAt)
        writer.write(optional: self.terms.owner) { writer, owner in
            writer.write(owner.subject)
            writer.write(owner.epoch)
        }
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> HandoffFamily {
        let members = try reader.list { (reader) throws(CompactFormatError) in try reader.key() }
        let since = try reader.time()
        let expiresAt = try reader.time()
        let owner = try reader.optional { (reader) throws(CompactFormatError) in
            RecordOwner(subject: try reader.text(), epoch: try reader.unsigned())
        }
        return HandoffFamily(
            members: members,
            terms: RecordTerms(since: since, expiresAt: expiresAt, owner: owner)
        )
    }
}

extension Session {
    /// Returns the key of the root of this session's family: this session itself, unless it was made from another
    /// session. `nil` if the session ends with its whole lineage (`endReach`).
    ///
    /// - Parameter key: The key of this session.
    package func familyRoot(_ key: RecordKey) -> RecordKey? {
        guard self.endReach == .session else { return nil }
        guard let source = self.bornOf, source.kind == .session else { return key }
        return source
    }
}

extension HandoffFamily {
    /// The maximum number of attempts to change the record if concurrent changes conflict.
    private static let mostTries = 16

    /// - Parameter root: The session that gives the record its user and its lifetime.
    init(root: Session) {
        let owner = RecordOwner(subject: root.subject, epoch: root.epoch)
        self.init(members: [], terms: RecordTerms(since: root.issuedAt, expiresAt: root.expiresAt, owner: owner))
    }

    /// Adds a session to the family of `root` before the session is made. A member that is never made does no harm, but
    /// a session that is made without being a member would outlive a sign-out.
    ///
    /// - Parameters:
    ///   - parent: The session from which the member is made. No session of the family outlives the parent.
    ///   - former: A session of the family that has ended and that the member replaces.
    package static func add(
        _ member: RecordKey,
        root: RecordKey,
        parent: Session,
        former: RecordKey?,
        to store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop,
        try number: Int = 1
    ) -> EventLoopFuture<Void> {
        let key = Self.key(root: root)
        return store.replaceable(key, as: Self.self, on: loop).flatMap { stored in
            var family = stored?.record ?? HandoffFamily(root: parent)
            guard !family.members.contains(member) else { return loop.makeSucceededVoidFuture() }
            if let former { family.members.removeAll { $0 == former } }
            family.members.append(member)
            let surplus = family.members.count > Self.capacity ? family.members.removeFirst() : nil
            let ended = surplus.map { store.end($0, on: loop).map { _ in } } ?? loop.makeSucceededVoidFuture()
            return ended.flatMap { [family] in
                store.replace(
                    key,
                    judged: stored?.version,
                    with: family,
                    attempt: AttemptID(value: member.digest.base64URL),
                    on: loop
                )
            }.flatMap { replacement in
                switch replacement {
                // If the lineage has ended, no session is made in it.
                case .done, .absent: return loop.makeSucceededVoidFuture()
                case .changed where number < Self.mostTries:
                    return Self.add(
                        member,
                        root: root,
                        parent: parent,
                        former: former,
                        to: store,
                        on: loop,
                        try: number + 1
                    )
                case .changed, .quarantined: return loop.makeFailedFuture(StoreError.unavailable)
                }
            }
        }
    }

    /// Returns the session `root` and all of its family, whether live or ended.
    package static func members(
        of root: RecordKey,
        in store: any ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<[RecordKey]> {
        store.replaceable(Self.key(root: root), as: Self.self, on: loop).map { [root] + ($0?.record.members ?? []) }
    }

    /// Ends the session `root` and all of its family. The call may be repeated.
    ///
    /// A ticket may be used at the same time. It makes a session only while the session that issued it is live, and
    /// only after the new session is in the record. So after all known sessions have ended, the record is read again
    /// until it names no new session.
    ///
    /// - Parameters:
    ///   - spared: A session of the family that the caller ends itself.
    ///   - isLast: True if the record ends too; false while the spared session lives.
    package static func end(
        root: RecordKey,
        sparing spared: RecordKey? = nil,
        isLast: Bool = true,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        let members = root == spared ? [] : [root]
        let known = Set([root, spared ?? root])
        return Self.end(members, of: root, known: known, in: store, on: loop).flatMap { hasRecord in
            isLast && hasRecord
                ? store.end(replaceable: Self.key(root: root), on: loop) : loop.makeSucceededVoidFuture()
        }
    }

    /// Ends `members`, and sessions that join the family meanwhile. Returns true if the family has a record.
    private static func end(
        _ members: [RecordKey],
        of root: RecordKey,
        known: Set<RecordKey>,
        in store: any SessionStore & ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<Bool> {
        let ends = members.map { store.end($0, on: loop) }
        return EventLoopFuture.andAllSucceed(ends, on: loop).flatMap {
            store.replaceable(Self.key(root: root), as: Self.self, on: loop)
        }.flatMap { stored in
            let new = stored?.record.members.filter { !known.contains($0) } ?? []
            guard !new.isEmpty else { return loop.makeSucceededFuture(stored != nil) }
            return Self.end(new, of: root, known: known.union(new), in: store, on: loop)
        }
    }
}
