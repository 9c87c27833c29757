import Cryptography
package import Sessions

extension Keyspace {
    /// The prefixes that caches follow: sessions, ends, epochs of subjects, documents.
    package static let followedPrefixes = ["sp:s:", "sp:f:", "sp:e:", "sp:c:"]

    /// Returns what caches must invalidate when `key` changes; `nil` if the key does not concern caches.
    package static func ended(byChangeOf key: [UInt8]) -> Invalidation? {
        guard key.starts(with: "sp:".utf8), key.count > 6, key[4] == UInt8(ascii: ":"), key[5] == UInt8(ascii: "{"),
            let close = key[6...].firstIndex(of: UInt8(ascii: "}"))
        else { return nil }
        let (tag, rest) = (key[6..<close], key[(close + 1)...])
        switch key[3] {
        case UInt8(ascii: "s"):
            return Self.session(tag, rest).map { .sessionRecord($0) }
        case UInt8(ascii: "f"):
            guard Self.isBase64URL(tag, count: Self.tagLength), rest.isEmpty else {
                return Self.session(tag, rest).map { .session($0) } ?? Self.record(tag, rest)
            }
            return .lineage(Self.lineage(tag))
        case UInt8(ascii: "c"):
            return Self.document(tag, rest)
        case UInt8(ascii: "e"):
            guard Self.isBase64URL(tag, count: Self.digestLength), rest.isEmpty else { return nil }
            return .subject(String(decoding: tag, as: UTF8.self))
        default:
            return nil
        }
    }

    /// Returns true if each change of `key` is an end. Keys of sessions and documents also change when they are
    /// written.
    package static func isCertainEnd(_ key: [UInt8]) -> Bool {
        key.count > 3 && key[3] != UInt8(ascii: "s") && key[3] != UInt8(ascii: "c")
    }

    private static func session(_ tag: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) -> RecordKey? {
        guard Self.isBase64URL(tag, count: Self.tagLength), rest.first == UInt8(ascii: ":"),
            let digest = Digest256(base64URL: rest.dropFirst())
        else { return nil }
        return RecordKey(kind: .session, lineage: Self.lineage(tag), digest: digest)
    }

    private static func record(_ tag: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) -> Invalidation? {
        let parts = rest.dropFirst(1)
        guard Self.isBase64URL(tag, count: Self.tagLength), rest.first == UInt8(ascii: ":"), let letter = parts.first,
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(letter), parts.dropFirst().first == UInt8(ascii: ":"),
            let digest = Digest256(base64URL: parts.dropFirst(2))
        else { return nil }
        let kind = RecordKind(letter: letter)
        return .record(RecordKey(kind: kind, lineage: Self.lineage(tag), digest: digest))
    }

    private static func document(_ tag: ArraySlice<UInt8>, _ rest: ArraySlice<UInt8>) -> Invalidation? {
        let name = rest.dropFirst()
        guard !tag.isEmpty, tag.allSatisfy(Self.isInCollectionName), rest.first == UInt8(ascii: ":"),
            Self.isBase64URL(name, count: Self.digestLength)
        else { return nil }
        return .document(
            DocumentName(collection: String(decoding: tag, as: UTF8.self), name: String(decoding: name, as: UTF8.self))
        )
    }

    private static func isInCollectionName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
        default: false
        }
    }

    /// The length of a lineage's tag in characters.
    private static let tagLength = 10
    /// The length of an HMAC-SHA-256 in base64url characters.
    private static let digestLength = 43

    private static func lineage(_ tag: ArraySlice<UInt8>) -> Lineage {
        Lineage(tag: String(decoding: tag, as: UTF8.self))
    }

    private static func isBase64URL(_ text: ArraySlice<UInt8>, count: Int) -> Bool {
        text.count == count
            && text.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
