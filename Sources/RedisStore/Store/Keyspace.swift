import Cryptography
package import Sessions

/// The keys in Redis: `sp:<type>:{tag}:<hmac>`. The braces select the hash slot, so all keys with a lineage's tag share
/// a slot. No part is secret.
package enum Keyspace {
    /// Returns the key of a sealed record. It has the letter of the record's kind, such as `sp:s:` for sessions.
    package static func record(_ key: RecordKey) -> [UInt8] {
        var place = Self.key("sp:s:{", key)
        if key.kind != .session { place[3] = key.kind.letter }
        return place
    }

    /// Returns the keys that decide whether a session is live, apart from its subject's epoch: record, ledger, idle
    /// key.
    static func all(of session: RecordKey) -> [[UInt8]] {
        let record = Self.record(session)
        var idle = record
        idle[3] = UInt8(ascii: "i")
        return [record, Self.lineage(session.lineage), idle]
    }

    /// Returns the key of the marker that replaces a used or burned single-use record.
    package static func marker(_ key: RecordKey) -> [UInt8] { Self.key("sp:m:{", key) }

    /// Returns the key of the parent's name, for single-use records read together with their parent
    /// (`SingleUseRecord`).
    static func parent(_ key: RecordKey) -> [UInt8] { Self.key("sp:tp:{", key) }

    /// Returns the key of a session's idle deadline. It is written often, so it has no prefix that caches follow.
    package static func idle(_ key: RecordKey) -> [UInt8] { Self.key("sp:i:{", key) }

    /// Returns the key of the lineage's ledger, which says whether the lineage is live or has ended. Every new record
    /// of the lineage may write it, so caches do not follow its prefix.
    package static func lineage(_ lineage: Lineage) -> [UInt8] { Self.tagged("sp:g:{", lineage.tag) }

    /// Returns a key that is written only when the lineage ends, so that caches are notified; never read.
    package static func ending(_ lineage: Lineage) -> [UInt8] { Self.tagged("sp:f:{", lineage.tag) }

    /// Returns a key that is written only when the session or replaceable record is ended; never read. It distinguishes
    /// an end from a creation or an expiry. For a replaceable record, the kind's letter precedes the digest.
    package static func ending(_ key: RecordKey) -> [UInt8] {
        guard key.kind != .session else { return Self.key("sp:f:{", key) }
        var bytes = Self.tagged("sp:f:{", key.lineage.tag)
        bytes += [UInt8(ascii: ":"), key.kind.letter, UInt8(ascii: ":")]
        key.digest.appendBase64URL(to: &bytes)
        return bytes
    }

    /// Returns the key of the epoch of the subject with this name (`SealingKeyRing.names`), in a separate slot.
    package static func epoch(_ name: String) -> [UInt8] { Self.tagged("sp:e:{", name) }

    /// Returns the key of the index's list or log with this name (`SealingKeyRing.names`). Sign-ins write it, so it is
    /// outside the prefixes that caches follow.
    static func sessions(_ name: String) -> [UInt8] { Self.tagged("sp:u:{", name) }

    /// Returns the key of the rate limiter's bucket with this name (`SealingKeyRing.names`). It is written often, so it
    /// is outside the prefixes that caches follow.
    package static func limit(_ name: String) -> [UInt8] { Self.tagged("sp:l:{", name) }

    /// Returns the key that marks an id as presented, for one name of the id (`SealingKeyRing.names`). All names of an
    /// id have one tag, so they share a slot.
    package static func once(_ name: String, tag: String) -> [UInt8] { Self.named("sp:o:{", tag, name) }

    /// Returns the key of the sealed document with this name. All documents of a collection share a slot.
    package static func document(_ name: DocumentName) -> [UInt8] {
        Self.named("sp:c:{", name.collection, name.name)
    }

    /// Returns the key of the names of all documents of a collection, one per line. It is outside the prefixes that
    /// caches follow, because changes of the documents themselves are reported.
    package static func directory(_ collection: String) -> [UInt8] { Self.tagged("sp:d:{", collection) }

    /// The key of the register of the gateways' secrets (`SecretRegister`), outside the prefixes that caches follow.
    static let secrets = Array("sp:y:{secrets}".utf8)

    // Keys are made without string interpolation for speed: every read of a session makes three keys.

    private static func tagged(_ prefix: StaticString, _ tag: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64)
        prefix.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: tag.utf8)
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private static func named(_ prefix: StaticString, _ tag: String, _ name: String) -> [UInt8] {
        Self.tagged(prefix, tag) + [UInt8(ascii: ":")] + Array(name.utf8)
    }

    private static func key(_ prefix: StaticString, _ key: RecordKey) -> [UInt8] {
        var bytes = Self.tagged(prefix, key.lineage.tag)
        bytes.append(UInt8(ascii: ":"))
        key.digest.appendBase64URL(to: &bytes)
        return bytes
    }
}
