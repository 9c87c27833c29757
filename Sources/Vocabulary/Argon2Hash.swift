/// An Argon2 password hash (RFC 9106) as a PHC string: `$argon2id$v=19$m=65536,t=3,p=4$salt$hash`, with salt and hash
/// in unpadded base64.
///
/// Limits the load of a sign-in: the memory must be 1 MiB to 256 MiB, and memory times passes at most 1 GiB.
package struct Argon2Hash: Sendable, Equatable {
    package enum Variant: String, Sendable, CaseIterable {
        case argon2id, argon2i
    }

    /// The error for a text that is not a usable hash.
    package struct Flaw: Error, Sendable {
        /// An instruction that says how to fix the text.
        package let fix: String
    }

    /// The maximum length in bytes.
    private static let longest = 512
    /// The allowed memory in KiB.
    private static let memories: ClosedRange<UInt32> = 1024...262_144
    private static let maxWork: UInt64 = 1 << 20
    private static let maxLanes: UInt32 = 64
    /// The lengths in base64 characters: salts of 8 to 64 bytes, hashes of 16 to 64 bytes.
    private static let saltLengths = 11...86
    private static let hashLengths = 22...86

    package let variant: Variant
    /// 19 (0x13), or 16 for hashes from before 2016. A hash without `v=` has version 16.
    package let version: UInt32
    /// The memory in KiB.
    package let memory: UInt32
    package let passes: UInt32
    package let lanes: UInt32
    /// The salt in base64.
    package let salt: String
    /// The hash in base64.
    package let hash: String

    /// - Throws: `Flaw` if the text is not an Argon2 hash or its cost is out of range.
    package init(_ text: String) throws(Flaw) {
        var parts = text.split(separator: "$", omittingEmptySubsequences: false)[...]
        guard text.utf8.count <= Self.longest, parts.popFirst()?.isEmpty == true, let name = parts.popFirst(),
            let variant = Variant(rawValue: String(name))
        else { throw Flaw(fix: "write a hash by argon2id or argon2i, e.g. $argon2id$v=19$m=65536,t=3,p=4$...") }
        var version: UInt32 = 16
        if let written = parts.first, written.hasPrefix("v=") {
            guard let number = Self.number(written.dropFirst(2)), number == 16 || number == 19 else {
                throw Flaw(fix: "only v=19 and v=16 can be verified")
            }
            version = number
            parts.removeFirst()
        }
        guard parts.count == 3, let costs = Self.costs(parts.removeFirst()) else {
            throw Flaw(fix: "write m, t and p in this order, then salt and hash: $argon2id$v=19$m=65536,t=3,p=4$...")
        }
        let (salt, hash) = (parts.removeFirst(), parts.removeFirst())
        guard Self.isBase64(salt, Self.saltLengths), Self.isBase64(hash, Self.hashLengths) else {
            throw Flaw(fix: "give 8 to 64 bytes of salt and 16 to 64 bytes of hash, in base64 without padding")
        }
        (self.variant, self.version) = (variant, version)
        (self.memory, self.passes, self.lanes) = costs
        (self.salt, self.hash) = (String(salt), String(hash))
        guard Self.memories.contains(self.memory), self.passes > 0,
            UInt64(self.memory) * UInt64(self.passes) <= Self.maxWork
        else {
            throw Flaw(
                fix: "choose m from 1024 to 262144 (1MiB to 256MiB) and t so that m*t is at most 1048576 (1GiB), "
                    + "e.g. m=65536,t=3,p=4"
            )
        }
        // Each lane needs at least eight blocks of 1 KiB (RFC 9106 3.1). 64 lanes fit into the minimum memory.
        guard (1...Self.maxLanes).contains(self.lanes) else {
            throw Flaw(fix: "choose p from 1 to \(Self.maxLanes)")
        }
    }

    /// Copies the cost of `other`, with a new salt and hash.
    private init(like other: Argon2Hash, salt: String, hash: String) {
        (self.variant, self.version) = (other.variant, other.version)
        (self.memory, self.passes, self.lanes) = (other.memory, other.passes, other.lanes)
        (self.salt, self.hash) = (salt, hash)
    }

    /// Returns a hash with this cost and another salt and hash, in base64.
    package func with(salt: String, hash: String) -> Argon2Hash { Argon2Hash(like: self, salt: salt, hash: hash) }

    package var text: String {
        "$\(self.variant.rawValue)$v=\(self.version)$m=\(self.memory),t=\(self.passes),p=\(self.lanes)"
            + "$\(self.salt)$\(self.hash)"
    }

    private static func costs(_ text: Substring) -> (UInt32, UInt32, UInt32)? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].hasPrefix("m="), parts[1].hasPrefix("t="), parts[2].hasPrefix("p="),
            let memory = Self.number(parts[0].dropFirst(2)), let passes = Self.number(parts[1].dropFirst(2)),
            let lanes = Self.number(parts[2].dropFirst(2))
        else { return nil }
        return (memory, passes, lanes)
    }

    /// Reads a decimal number without sign or leading zero.
    private static func number(_ digits: Substring) -> UInt32? {
        guard digits.first != "0", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt32(digits)
    }

    private static func isBase64(_ text: Substring, _ lengths: ClosedRange<Int>) -> Bool {
        lengths.contains(text.utf8.count) && text.utf8.count % 4 != 1
            && text.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
    }
}
