import Providers
import Sessions
import Vocabulary

/// Writes the result of a refresh. It must not be lost, so the new tokens stay in memory while the store fails.
extension ProviderGrants {
    /// The result of writing.
    enum Settlement {
        /// The grant is stored.
        case stored(ProviderGrant)
        /// The grant no longer exists.
        case absent
        case tooLarge
        /// The store failed `patience` times.
        case unavailable
    }

    /// The maximum number of tries while the store fails. It is high, because the old tokens may already be invalid.
    private static let patience = 600
    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(1)

    /// Replaces the present grant with the result of `change`, or leaves it if the result is `nil`.
    func settle(_ key: RecordKey, _ change: (ProviderGrant) -> ProviderGrant?) async -> Settlement {
        // A write whose answer was lost is repeated as the same attempt. A new attempt would find the grant of the
        // first attempt and treat it as stored, although perhaps no replica has it.
        var unanswered: (grant: ProviderGrant, judged: RecordVersion, attempt: AttemptID)?
        let settlement = await self.persist { () async throws(NotDone) -> Settlement? in
            for _ in 0..<Self.maxWrites {
                if unanswered == nil {
                    guard let stored = try await self.grant(key) else { return .absent }
                    guard let next = change(stored.record) else { return .stored(stored.record) }
                    unanswered = (next, stored.version, self.authority.newAttempt())
                }
                guard let write = unanswered else { continue }
                switch try await self.write(write.grant, key, judged: write.judged, as: write.attempt) {
                case .written: return .stored(write.grant)
                case .tooLarge: return .tooLarge
                // The grant was replaced, or the store no longer knows the judged version.
                case .other: unanswered = nil
                }
            }
            throw NotDone(.storeUnavailable)
        }
        return settlement ?? .unavailable
    }

    /// Repeats `step` until the store answers. Returns `nil` after `patience` tries.
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
