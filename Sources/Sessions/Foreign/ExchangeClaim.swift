import Cryptography
package import Vocabulary

/// Records which device used the two codes of a provider's session exchange. The provider itself gives the session to
/// anyone who presents the codes, as often as they like.
package struct ExchangeClaim: ReplaceableRecord, Hashable {
    package static var kind: RecordKind { RecordKind(letter: UInt8(ascii: "k")) }
    package static var longestLife: Duration { .seconds(2 * 86_400) }

    /// The address of the device that used the codes, as text (`AddressKey`).
    package var device: String
    package var claimedAt: UnixTime
    /// The time after which the provider's session is too old for its codes to be used.
    package var expiresAt: UnixTime

    package init(device: String, claimedAt: UnixTime, expiresAt: UnixTime) {
        self.device = device
        self.claimedAt = claimedAt
        self.expiresAt = expiresAt
    }

    package var terms: RecordTerms { RecordTerms(since: self.claimedAt, expiresAt: self.expiresAt) }

    package func write(to writer: inout CompactWriter) {
        writer.write(self.device)
        writer.write(self.claimedAt)
        writer.write(self.expiresAt)
    }

    package static func read(from reader: inout CompactReader) throws(CompactFormatError) -> ExchangeClaim {
        ExchangeClaim(device: try reader.text(), claimedAt: try reader.time(), expiresAt: try reader.time())
    }
}

extension TokenAuthority {
    /// Returns the key of the record for these codes.
    package func claimKey(of codes: [String], at provider: String) -> RecordKey {
        let names = [provider] + codes
        return RecordKey(
            kind: ExchangeClaim.kind,
            lineage: Lineage(self.current.pepper.sha256(ForeignNames.label(["exchange lineage"] + names))),
            digest: self.current.pepper.sha256(ForeignNames.label(["exchange"] + names))
        )
    }
}
