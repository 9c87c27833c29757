import Cryptography
package import NIOCore
package import Sessions
import Vocabulary

/// Reads a single-use record and the session from which it comes in one round trip.
///
/// The record names the session only in its sealed part, which Redis cannot read. The name is therefore also written
/// next to the record. Readers compare both names, so that nobody who can change Redis can substitute another session.
extension RedisStore {
    /// Returns the name of the parent session: its digest, and the names of its subject's epochs. `nil` if there is no
    /// parent, or if it is in another lineage.
    func parentName(of terms: RecordTerms, in lineage: Lineage) -> [UInt8]? {
        guard let parent = terms.parent, parent.kind == .session, parent.lineage == lineage, let owner = terms.owner
        else {
            return nil
        }
        return Array(([parent.digest.base64URL] + self.names(of: owner.subject)).joined(separator: " ").utf8)
    }

    package func singleUseWithParent<Record: SingleUseRecord>(
        _ key: RecordKey,
        as kind: Record.Type,
        on loop: any EventLoop
    ) -> EventLoopFuture<LookupWithParent<Record>> {
        precondition(key.kind == Record.kind, "a record needs a key of its kind")
        guard Record.isReadWithParent else { return self.singleUseThenParent(key, as: kind, on: loop) }
        let places = [Keyspace.marker(key), Keyspace.record(key), Keyspace.lineage(key.lineage), Keyspace.parent(key)]
        let isCluster = self.client.isCluster
        // In a cluster, epochs have separate slots: another command reads a known owner's epoch at the same time.
        let known = isCluster ? self.subjects.value(for: key) : nil
        let epoch = known.map { self.epoch(of: $0.subject, on: loop) }
        let call = ScriptCall(Scripts.readWithParent, keys: places, arguments: [isCluster ? [] : Array("E".utf8)])
        return self.client.run(call, on: loop) { result in
            // Redis has refused the script, but may accept single commands.
            if case .success(.error) = result { return .later(self.singleUseThenParent(key, as: kind, on: loop)) }
            guard case .array(let elements) = try Self.reply(result), elements.count >= places.count else {
                throw StoreError.unavailable
            }
            let values = try Values(.array(elements), count: elements.count)
            switch try self.found(values, key: key, as: kind) {
            case .spent(let marker):
                return .success(LookupWithParent(.spent(marker)))
            case .absent where (0..<3).allSatisfy({ values[$0] == nil }):
                return .success(LookupWithParent(.absent))
            case .live(let record, let value):
                guard let owner = record.terms.owner,
                    let parent = try self.parent(of: record.terms, in: values, of: key.lineage)
                else { break }
                let current: Eventual<UInt64>
                if !isCluster {
                    current = .success(max(try values.latestEpoch(from: 6), self.rememberedEpoch(of: owner.subject)))
                } else if known?.subject == owner.subject, let epoch {
                    current = .later(epoch)
                } else {
                    current = .later(self.epoch(of: owner.subject, on: loop))
                }
                self.know(owner.subject, as: key)
                if let place = record.terms.parent { self.know(owner.subject, as: place) }
                return current.map { current in
                    guard owner.epoch >= current else { return LookupWithParent(.absent) }
                    let stored = self.kept(record, value, under: key, epoch: current)
                    return LookupWithParent(.live(stored), parent: parent.record.epoch >= current ? parent : nil)
                }
            case .absent: break
            }
            // The record or its parent is not live, or the parent's name is missing. Separate reads find out which.
            return .later(self.singleUseThenParent(key, as: kind, on: loop))
        }
    }

    /// Returns the live session from which a record with these terms comes, without checking its subject's epoch. `nil`
    /// if the session is not live, or if another session was read.
    private func parent(
        of terms: RecordTerms,
        in values: Values,
        of lineage: Lineage
    ) throws(StoreError) -> Stored<Session>? {
        guard let key = terms.parent, let owner = terms.owner, let name = self.parentName(of: terms, in: lineage),
            values[3] == name, values.count == 6 + (self.client.isCluster ? 0 : self.names(of: owner.subject).count)
        else { return nil }
        let own = values.selecting([4, 2, 5])
        guard let parent = try self.liveSession(own, key, at: Keyspace.record(key), isEnding: false),
            parent.record.subject == owner.subject
        else { return nil }
        return parent
    }
}
