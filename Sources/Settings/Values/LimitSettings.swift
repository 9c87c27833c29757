/// Limits for clients.
package struct LimitSettings: Sendable, Equatable {
    package var requestLine = 8192
    package var field = 16_384
    package var fields = 65_536
    package var fieldCount = 100
    package var body: Int?
    package var connections = 10_000
    /// The limit for one client address; 0 for no limit, `nil` for half of `connections`.
    package var connectionsPerAddress: Int?
    package var requestsPerConnection = 10_000
    package var drainBody = 65_536
    package var http2 = HTTP2LimitSettings()

    package init() {}
}

/// Additional limits for clients of HTTP/2.
package struct HTTP2LimitSettings: Sendable, Equatable {
    package var streams = 100
}

/// The time limits of the gateway.
package struct TimeoutSettings: Sendable, Equatable {
    package var header: Duration = .seconds(10)
    package var idle: Duration = .seconds(75)
    package var bodyRate = 240
    package var bodyGrace: Duration = .seconds(10)
    package var write: Duration = .seconds(60)
    package var connect: Duration = .seconds(5)
    package var queue: Duration = .seconds(15)
    package var response: Duration = .seconds(60)
    package var upstreamIdle: Duration = .seconds(60)
    package var streamIdle: Duration = .seconds(3600)
    package var upstreamKeepAlive: Duration = .seconds(30)
}

/// The shutdown of the gateway.
package struct DrainSettings: Sendable, Equatable {
    package var delay: Duration = .seconds(5)
    package var timeout: Duration = .seconds(20)

    package init() {}
}

/// Deadlines of a shutdown, counted from the signal. Supervisors usually wait for 30 seconds; the defaults take less.
package struct StopPlan: Sendable, Equatable {
    /// The time between the last renewal and `requests`, and between `requests` and the last answer of a provider.
    private static let lastCalls = Duration.seconds(3)
    /// The minimum of `calls`. One provider call takes less time.
    private static let call = Duration.seconds(6)
    /// The time to close the store, the log and the sockets.
    private static let rest = Duration.milliseconds(1500)

    /// The deadline for running requests.
    package let requests: Duration
    /// The time after which no renewal of a provider's token begins.
    package let renewals: Duration
    /// The deadline for running provider calls.
    package let calls: Duration
    /// The deadline for the whole shutdown.
    package let end: Duration

    /// Computes the deadlines. `drain.delay` is skipped if a person waits for the end (`isByHand`).
    package init(_ drain: DrainSettings, isByHand: Bool = false) {
        self.requests = (isByHand ? .zero : drain.delay) + drain.timeout
        self.renewals = max(.zero, self.requests - Self.lastCalls)
        self.calls = max(self.requests + Self.lastCalls, Self.call)
        self.end = self.calls + Self.rest
    }
}

/// The log lines on standard output.
package struct LogSettings: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable, SettingWord { case debug, info, warning, error }
    /// The form of log lines.
    package enum Format: String, Sendable, CaseIterable, SettingWord {
        /// Text on a terminal, JSON elsewhere.
        case auto
        case json, text
    }
    package var level: Level = .info
    package var format = Format.auto
    package var access = true
    package var audit = true
    package var auditRefusesWhenFull = false
    package var buffer = 1 << 20
}
