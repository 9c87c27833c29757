package import Sessions

/// Where things lie in Redis: `sp:<type>:{tag}:<hmac>` (DESIGN 5). The braces make the lineage's tag the hash slot, so a
/// token, its marker, the session it makes, its idle key and the lineage's ledger share one. No part is a secret.
package enum Keyspace {
    /// The sealed session (`sp:s:`) or transfer token (`sp:t:`).
    package static func record(_ key: RecordKey) -> [UInt8] {
        switch key.kind {
        case .session: Self.key("s", key)
        case .transfer: Self.key("t", key)
        }
    }

    /// What is left where a single-use token was.
    package static func marker(_ key: RecordKey) -> [UInt8] { Self.key("m", key) }

    /// When the session ends for want of use. Written often, so it lies outside the prefixes that caches follow.
    package static func idle(_ key: RecordKey) -> [UInt8] { Self.key("i", key) }

    /// The lineage's ledger: whether it lives or has ended.
    package static func lineage(_ lineage: Lineage) -> [UInt8] { Array("sp:f:{\(lineage.tag)}".utf8) }

    /// The epoch of the subject with this name (`SealingKeyRing.names`), which lies in a slot of its own.
    package static func epoch(_ name: String) -> [UInt8] { Array("sp:e:{\(name)}".utf8) }

    /// The rate limiter's bucket with this name (`SealingKeyRing.names`). Written often: outside what caches follow.
    package static func limit(_ name: String) -> [UInt8] { Array("sp:l:{\(name)}".utf8) }

    private static func key(_ type: String, _ key: RecordKey) -> [UInt8] {
        Array("sp:\(type):{\(key.lineage.tag)}:\(key.digest)".utf8)
    }
}
