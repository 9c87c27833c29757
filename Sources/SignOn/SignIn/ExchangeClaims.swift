package import AddressIntelligence
import NIOCore
import Sessions
package import Vocabulary

/// Makes the two codes of a provider's session exchange single-use across all gateways that share the store. The
/// provider itself accepts the codes again and again.
package struct ExchangeClaims: RecordCaller {
    /// How long a device that lost the answer may repeat its request.
    private static let repetition = Duration.seconds(30)
    /// How long after the sign-in the codes may be used. The provider itself sets no limit.
    private static let lifetime = Duration.seconds(600)
    /// The tolerated clock difference between gateway and provider.
    private static let tolerance = Duration.seconds(60)
    /// The maximum number of tries while other requests claim the codes.
    private static let maxTries = 4

    let records: RecordAccess

    package init(records: RecordAccess) {
        self.records = records
    }

    /// Marks these codes as used by a device.
    ///
    /// - Parameters:
    ///   - codes: Both codes, normalised so that spellings that the provider treats as equal are equal.
    ///   - provider: The provider's name.
    ///   - signedInAt: The time of the sign-in, by the provider's clock.
    /// - Throws: `code.replayed` if another device has used the codes, or this device more than 30 seconds ago;
    ///   `code.unknown` if the sign-in is too old.
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
            // The claim must outlive the codes, even if the provider's clock is ahead.
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
