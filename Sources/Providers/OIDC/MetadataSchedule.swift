import Vocabulary

/// The times of the requests for an issuer's metadata: at once, then every hour, and after a failure with a growing
/// pause. In an outage, the last valid metadata remain in use.
struct MetadataSchedule: Sendable {
    static let maxAge: Duration = .seconds(3600)
    private static let firstPause: Duration = .seconds(1)
    private static let longestPause: Duration = .seconds(60)

    private(set) var known: ProviderMetadata?
    /// The reason why the last request failed; `nil` if it succeeded or none has ended yet.
    private(set) var failure: MetadataError?
    private var failures = 0
    /// The end of the last request, and the pause after it; `nil` before the first request.
    private var rest: (from: UnixTime, length: Duration)?

    /// Returns whether a request is due.
    func isDue(_ now: UnixTime) -> Bool { self.pause(now) == .zero }

    /// Returns the time until the next request.
    func pause(_ now: UnixTime) -> Duration {
        // No pause after the clock was set back.
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
