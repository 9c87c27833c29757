import Cryptography
package import NIOCore
package import Vocabulary

/// The sessions and access tokens that end together with a root session, while the rest of the lineage continues.
///
/// For example, a transfer token creates a browser session in the native session's lineage, and tickets create sessions
/// for other hosts. A sign-out in the browser ends the sessions on all hosts, but not the native session.
package struct HandoffFamily: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "w")) }
    /// More than the longest configurable lifetime of a session.
    package static var longestLife: Duration { .seconds(366 * 86_400) }

    /// The maximum number of members. A further member ends the oldest one.
    static let capacity = 64

    /// The keys of the members without the root, the oldest first.
    package fileprivate(set) var members: [RecordKey]
    package let terms: RecordTerms

    /// Returns the record of a family that begins with `root` and already contains `member`.
    ///
    /// - Parameter root: The first session, which is written in the same atomic step.
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
    /// Returns the key of the root of this session's family; `nil` if the session ends with its whole lineage
    /// (`endReach`). The root is this session itself, unless it was made from another session.
    ///
    /// - Parameter key: The key of this session.
    package func familyRoot(_ key: RecordKey) -> RecordKey? {
        guard self.endReach == .session else { return nil }
        guard let source = self.sourceKey, source.kind == .session else { return key }
        return source
    }
}

extension HandoffFamily {
    /// The maximum number of tries to change the record while other requests change it.
    private static let maxTries = 16

    /// - Parameter root: The session whose user and lifetime the record gets.
    init(root: Session) {
        let owner = RecordOwner(subject: root.subject, epoch: root.epoch)
        self.init(members: [], terms: RecordTerms(since: root.issuedAt, expiresAt: root.expiresAt, owner: owner))
    }

    /// Adds a session to the family of `root`. This must be called before the session is made: otherwise, a sign-out in
    /// between would miss the session.
    ///
    /// - Parameters:
    ///   - parent: The session from which the member is made. It outlives all sessions of the family.
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
                // `.absent`: the lineage has ended, so no session is made in it.
                case .done, .absent: return loop.makeSucceededVoidFuture()
                case .changed where number < Self.maxTries:
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

    /// Returns the keys of the root and of all members, live or ended.
    package static func members(
        of root: RecordKey,
        in store: any ReplaceableStore,
        on loop: any EventLoop
    ) -> EventLoopFuture<[RecordKey]> {
        store.replaceable(Self.key(root: root), as: Self.self, on: loop).map { [root] + ($0?.record.members ?? []) }
    }

    /// Ends the session `root` and all of its family. The call may be repeated.
    ///
    /// A ticket that is used at the same time may add a member. So the record is read again until it has no new member.
    ///
    /// - Parameters:
    ///   - spared: A session of the family that the caller ends itself.
    ///   - isLast: True to end the record, too; false while the spared session lives.
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

    /// Ends `members`, and the sessions that join the family meanwhile. Returns true if the family has a record.
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
