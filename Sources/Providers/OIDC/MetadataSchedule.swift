import Vocabulary

/// When an issuer is asked for its metadata: at once, then every hour; after a failure with a growing pause. What was good
/// last is kept in an outage.
struct MetadataSchedule: Sendable {
    static let maxAge: Duration = .seconds(3600)
    private static let firstPause: Duration = .seconds(1)
    private static let longestPause: Duration = .seconds(60)

    private(set) var known: ProviderMetadata?
    /// Why the last try failed; nil after a success.
    private(set) var failure: MetadataError?
    private var failures = 0
    /// When the last try ended, and the pause after it; nil: there was none.
    private var rest: (from: UnixTime, length: Duration)?

    /// Whether the issuer should be asked now.
    func isDue(_ now: UnixTime) -> Bool { self.pause(now) == .zero }

    /// The time until the next try.
    func pause(_ now: UnixTime) -> Duration {
        // A clock that was set back makes the pause no longer.
        guard let rest, now >= rest.from else { return .zero }
        return max(rest.length - now.since(rest.from), .zero)
    }

    mutating func succeeded(_ metadata: ProviderMetadata, _ now: UnixTime) {
        self.known = metadata
        self.failure = nil
        self.failures = 0
        self.rest = (now, Self.maxAge)
    }

    mutating func failed(_ error: MetadataError, _ now: UnixTime) {
        self.failure = error
        let pause = min(Self.firstPause * (1 << min(self.failures, 6)), Self.longestPause)
        self.failures += 1
        self.rest = (now, pause)
    }
}
