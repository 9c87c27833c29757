/// Limits of what a client may use.
package struct LimitSettings: Sendable, Equatable {
    package var requestLine = 8192
    package var field = 16_384
    package var fields = 65_536
    package var fieldCount = 100
    package var body: Int?
    package var connections = 10_000
    /// 0: no limit; nil: half of `connections`.
    package var connectionsPerAddress: Int?
    package var requestsPerConnection = 10_000
    package var drainBody = 65_536
    package var http2 = HTTP2LimitSettings()

    package init() {}
}

/// Limits of what a client of HTTP/2 may use beside the others.
package struct HTTP2LimitSettings: Sendable, Equatable {
    package var streams = 100
}

/// How long the gateway waits.
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

/// How the gateway stops.
package struct DrainSettings: Sendable, Equatable {
    package var delay: Duration = .seconds(5)
    package var timeout: Duration = .seconds(20)

    package init() {}
}

/// When the parts of a stop are over at the latest, from its signal on: supervisors kill who takes longer.
package struct StopPlan: Sendable, Equatable {
    /// How long calls of a provider may last that begin at the end of the time for requests.
    private static let lastCalls = Duration.seconds(3)
    /// Longer than one call of a provider.
    private static let call = Duration.seconds(6)
    /// For the store, the last lines and the sockets.
    private static let rest = Duration.milliseconds(1500)

    /// Requests under way.
    package let requests: Duration
    /// Until then renewals of providers' tokens begin; each has time for its call.
    package let renewals: Duration
    /// Calls of providers that have begun.
    package let calls: Duration
    /// All of it.
    package let end: Duration

    /// - Parameter isByHand: Whether requests are not served while load balancers notice.
    package init(_ drain: DrainSettings, isByHand: Bool = false) {
        self.requests = (isByHand ? .zero : drain.delay) + drain.timeout
        self.renewals = max(.zero, self.requests - Self.lastCalls)
        self.calls = max(self.requests + Self.lastCalls, Self.call)
        self.end = self.calls + Self.rest
    }
}

/// What is written to standard output, one JSON object on each line.
package struct LogSettings: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable, SettingWord { case debug, info, warning, error }
    /// In which form lines are written.
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
