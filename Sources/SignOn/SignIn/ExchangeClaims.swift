package import AddressIntelligence
import NIOCore
import Sessions
package import Vocabulary

/// Lets the two codes of a provider's session exchange be used once, across all gateways of a store, although the provider
/// would give the session again and again.
package struct ExchangeClaims: RecordCaller {
    /// A device that lost the answer may repeat its request for so long.
    private static let repetition = Duration.seconds(30)
    /// How long after the sign-in the codes may be used. The provider has no limit of its own.
    private static let lifetime = Duration.seconds(600)
    /// What the clocks of gateway and provider may differ by.
    private static let tolerance = Duration.seconds(60)
    /// How often a claim is tried that another one has overtaken.
    private static let maxTries = 4

    let records: RecordAccess

    package init(records: RecordAccess) {
        self.records = records
    }

    /// Claims the session for these codes for a device.
    ///
    /// - Parameters:
    ///   - codes: Both codes, in a form that is the same for all spellings that the provider takes for the same.
    ///   - provider: The provider's name.
    ///   - signedInAt: When the user signed in, by the provider's clock.
    /// - Throws: `code.replayed` (they were used before, by another device or too long ago), `code.unknown` (the sign-in is
    ///   too long ago).
    package func claim(
        _ codes: [String],
        at provider: String,
        signedInAt: UnixTime,
        by address: IPAddress
    ) async throws(NotDone) {
        let key = self.authority.claimKey(of: codes, at: provider)
        let device = address.key.description
        for _ in 0..<Self.maxTries {
            let now = self.clock.now()
            let end = signedInAt.advanced(by: Self.lifetime + Self.tolerance)
            if let standing = try await self.standing(key) {
                let mayRepeat = now < standing.claimedAt.advanced(by: Self.repetition) && standing.device == device
                guard mayRepeat else { throw NotDone(.codeReplayed) }
                return
            }
            guard now < end else { throw NotDone(.codeUnknown) }
            // It outlives the time in which the codes may be used, whatever the provider's clock says.
            let claim = ExchangeClaim(
                device: device,
                claimedAt: now,
                expiresAt: max(end, now).advanced(by: Self.lifetime)
            )
            let attempt = self.authority.newAttempt()
            let written = try await self.ask { store, loop in
                store.create(claim, key: key, attempt: attempt, on: loop)
            }
            switch written {
            case .done: return
            case .changed: continue
            case .absent, .quarantined: throw NotDone(.storeUnavailable)
            }
        }
        throw NotDone(.storeUnavailable)
    }

    private func standing(_ key: RecordKey) async throws(NotDone) -> ExchangeClaim? {
        try await self.ask { store, loop in
            store.replaceable(key, as: ExchangeClaim.self, on: loop)
        }?.record
    }
}
