import Cryptography
package import Sessions

/// The keys in Redis: `sp:<type>:{tag}:<hmac>`. The braces make the lineage's tag the hash slot, so a token, its
/// marker, the session it makes, its idle key and the lineage's ledger share one. No part is a secret.
package enum Keyspace {
    /// The sealed record, by the letter of its kind: a session (`sp:s:`), a transfer token (`sp:t:`).
    package static func record(_ key: RecordKey) -> [UInt8] {
        var place = Self.key("sp:s:{", key)
        if key.kind != .session { place[3] = key.kind.letter }
        return place
    }

    /// The keys that decide whether a session lives, except its subject's epoch: the record, its lineage's ledger, its
    /// idle key.
    static func all(of session: RecordKey) -> [[UInt8]] {
        let record = Self.record(session)
        var idle = record
        idle[3] = UInt8(ascii: "i")
        return [record, Self.lineage(session.lineage), idle]
    }

    /// The marker that replaces a used or burned single-use record.
    package static func marker(_ key: RecordKey) -> [UInt8] { Self.key("sp:m:{", key) }

    /// Which session a single-use record comes from, for those that are read together with it (`SingleUseRecord`).
    static func parent(_ key: RecordKey) -> [UInt8] { Self.key("sp:tp:{", key) }

    /// When the session idles out. Written often, so it is outside the prefixes that caches follow.
    package static func idle(_ key: RecordKey) -> [UInt8] { Self.key("sp:i:{", key) }

    /// The lineage's ledger: whether it lives or has ended. Every new record of the lineage may write it, so it is
    /// outside the prefixes that caches follow.
    package static func lineage(_ lineage: Lineage) -> [UInt8] { Self.tagged("sp:g:{", lineage.tag) }

    /// Written only when the lineage ends, so that caches are notified; never read.
    package static func ending(_ lineage: Lineage) -> [UInt8] { Self.tagged("sp:f:{", lineage.tag) }

    /// Written only when the session or replaceable record is ended, so that gateways can tell this from its creation
    /// and its expiry; never read. For a replaceable record, the kind's letter precedes the digest.
    package static func ending(_ key: RecordKey) -> [UInt8] {
        guard key.kind != .session else { return Self.key("sp:f:{", key) }
        var bytes = Self.tagged("sp:f:{", key.lineage.tag)
        bytes += [UInt8(ascii: ":"), key.kind.letter, UInt8(ascii: ":")]
        key.digest.appendBase64URL(to: &bytes)
        return bytes
    }

    /// The epoch of the subject with this name (`SealingKeyRing.names`), which has a slot of its own.
    package static func epoch(_ name: String) -> [UInt8] { Self.tagged("sp:e:{", name) }

    /// The list of the sessions of the subject with this name (`SealingKeyRing.names`). Written at every sign-in, so it
    /// is outside the prefixes that caches follow.
    static func sessions(_ name: String) -> [UInt8] { Self.tagged("sp:u:{", name) }

    /// The rate limiter's bucket with this name (`SealingKeyRing.names`). Written often, so it is outside the prefixes
    /// that caches follow.
    package static func limit(_ name: String) -> [UInt8] { Self.tagged("sp:l:{", name) }

    /// The mark that an id was presented, under this name (`SealingKeyRing.names`). The tag is the same for all names
    /// of the id, so they share a slot.
    package static func once(_ name: String, tag: String) -> [UInt8] { Self.named("sp:o:{", tag, name) }

    /// The sealed document with this name. All documents of a collection share a slot.
    package static func document(_ name: DocumentName) -> [UInt8] {
        Self.named("sp:c:{", name.collection, name.name)
    }

    /// The names of all documents of a collection, one a line. It is outside the prefixes that caches follow: the
    /// documents' own changes are reported.
    package static func directory(_ collection: String) -> [UInt8] { Self.tagged("sp:d:{", collection) }

    /// The register of the gateways' secrets (`SecretRegister`), outside the prefixes that caches follow.
    static let secrets = Array("sp:y:{secrets}".utf8)

    // Not by string interpolation, which is slower: every read of a session makes three of them.

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
