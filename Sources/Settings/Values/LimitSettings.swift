/// Limits of what a client may use.
///
/// ## Configuration keys (`limits`)
/// - `request_line` (size, default: 8KiB), `field` (size, default: 16KiB), `fields` (size, default: 64KiB),
///   `field_count` (integer, default: 100): more gets 414 or 431.
/// - `body` (size or `none`, default: none): more gets 413.
/// - `connections` (integer, default: 10000): open client connections.
/// - `connections_per_address` (integer, default: half of `connections`): for one address, of IPv6 one /64; 0: no
///   limit. `trusted_proxies` have none.
/// - `requests_per_connection` (integer, default: 10000).
/// - `drain_body` (size, default: 64KiB): after our own answer, an unread body up to this size is discarded.
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

    package init() {}
}

/// How long the gateway waits.
///
/// ## Configuration keys (`timeouts`)
/// - `header` (duration, default: 10s): from connecting, or from a request's first byte, to the end of its head, in total.
/// - `idle` (duration, default: 75s): a connection without a request.
/// - `body_rate` (size per second, default: 240): the lowest average rate of a request body, after `body_grace`.
/// - `body_grace` (duration, default: 10s).
/// - `write` (duration, default: 60s): a client that takes no byte of a response, or an app that takes none of a body.
/// - `connect` (duration, default: 1s), `response` (duration, default: 15s): the connect to an app, and the head of its
///   response.
/// - `queue` (duration, default: 5s): a request while all connections to its app are in use.
/// - `upstream_idle` (duration, default: 60s): a body of an app without a byte; `stream_idle` (default: 1h) for
///   WebSocket and event streams.
/// - `upstream_keep_alive` (duration, default: 30s): an idle connection to an app.
package struct TimeoutSettings: Sendable, Equatable {
    package var header: Duration = .seconds(10)
    package var idle: Duration = .seconds(75)
    package var bodyRate = 240
    package var bodyGrace: Duration = .seconds(10)
    package var write: Duration = .seconds(60)
    package var connect: Duration = .seconds(1)
    package var queue: Duration = .seconds(5)
    package var response: Duration = .seconds(15)
    package var upstreamIdle: Duration = .seconds(60)
    package var streamIdle: Duration = .seconds(3600)
    package var upstreamKeepAlive: Duration = .seconds(30)

    package init() {}
}

/// How the gateway stops.
///
/// ## Configuration keys (`drain`)
/// - `delay` (duration, default: 5s): after SIGTERM, how long requests are served while readiness is 503.
/// - `timeout` (duration, default: 30s): how long running requests may then take to end.
package struct DrainSettings: Sendable, Equatable {
    package var delay: Duration = .seconds(5)
    package var timeout: Duration = .seconds(20)

    package init() {}
}

/// What is written to standard output, one JSON object on each line.
///
/// ## Configuration keys (`log`)
/// - `level` (`debug` | `info` | `warning` | `error`, default: info).
/// - `access` (boolean, default: true): a line for each request, never with a query string.
/// - `audit` (boolean, default: true): a line for each security event; `audit_on_full` (`drop` | `refuse`, default:
///   drop).
/// - `buffer` (size, default: 1MiB): room for lines that wait for a slow reader; more are dropped and counted.
package struct LogSettings: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable { case debug, info, warning, error }
    package var level: Level = .info
    package var access = true
    package var audit = true
    package var auditRefusesWhenFull = false
    package var buffer = 1 << 20

    package init() {}
}
