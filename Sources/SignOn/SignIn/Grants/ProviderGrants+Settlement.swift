import Providers
import Sessions
import Vocabulary

/// Writes the result of a refresh, which must not be lost: the new tokens are kept in memory while the store fails.
extension ProviderGrants {
    /// The result of writing.
    enum Settlement {
        /// The grant that is stored now.
        case stored(ProviderGrant)
        /// There is no grant any more.
        case absent
        case tooLarge
        /// The store could not be asked for `patience`.
        case unavailable
    }

    /// How long a failing store is asked again. The former tokens may be worthless.
    private static let patience = 600
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    /// Replaces the present grant by what `change` makes of it; leaves it if that is nil.
    func settle(_ key: RecordKey, _ change: (ProviderGrant) -> ProviderGrant?) async -> Settlement {
        // A write without an answer is repeated as the same attempt. Another one would find what the first left, and take
        // it for stored although no replica has it.
        var unanswered: (grant: ProviderGrant, judged: RecordVersion, attempt: AttemptID)?
        let settlement = await self.persist { () async throws(NotDone) -> Settlement? in
            for _ in 0..<Self.mostWrites {
                if unanswered == nil {
                    guard let stored = try await self.grant(key) else { return .absent }
                    guard let next = change(stored.record) else { return .stored(stored.record) }
                    unanswered = (next, stored.version, self.authority.newAttempt())
                }
                guard let write = unanswered else { continue }
                switch try await self.write(write.grant, key, judged: write.judged, as: write.attempt) {
                case .written: return .stored(write.grant)
                case .tooLarge: return .tooLarge
                // It was replaced, or the store no longer knows what was judged.
                case .other: unanswered = nil
                }
            }
            throw NotDone(.storeUnavailable)
        }
        return settlement ?? .unavailable
    }

    /// Repeats `step` until the store can be asked; nil after `patience` tries.
    func persist<Answer>(_ step: () async throws(NotDone) -> Answer?) async -> Answer? {
        var pause = Self.firstPause
        for _ in 0..<Self.patience {
            do throws(NotDone) {
                return try await step()
            } catch {
                await self.pause(pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
        return nil
    }
}
