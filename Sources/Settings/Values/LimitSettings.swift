/// What a client may use up.
///
/// ## Configuration keys (`limits`)
/// - `request_line` (size, default: 8KiB), `field` (size, default: 16KiB), `fields` (size, default: 64KiB),
///   `field_count` (integer, default: 100): more is 414 or 431.
/// - `body` (size or `none`, default: none): more is 413.
/// - `connections` (integer, default: 10000): open client connections.
/// - `connections_per_address` (integer, default: half of `connections`): for each address, of IPv6 each /64; 0 for no
///   limit. `trusted_proxies` have none.
/// - `requests_per_connection` (integer, default: 10000).
/// - `drain_body` (size, default: 64KiB): an unread body up to this size is read away after our own answer.
package struct LimitSettings: Sendable, Equatable {
    package var requestLine = 8192
    package var field = 16_384
    package var fields = 65_536
    package var fieldCount = 100
    package var body: Int?
    package var connections = 10_000
    /// 0: no limit; nil: half of the connections that are let in.
    package var connectionsPerAddress: Int?
    package var requestsPerConnection = 10_000
    package var drainBody = 65_536

    package init() {}
}

/// How long the gateway waits.
///
/// ## Configuration keys (`timeouts`)
/// - `header` (duration, default: 10s): from connecting, or from a request's first byte, to the end of its head, in total.
/// - `idle` (duration, default: 75s): a kept-alive connection without a request.
/// - `body_rate` (size per second, default: 240): the least average rate of a request body, after `body_grace`.
/// - `body_grace` (duration, default: 10s).
/// - `write` (duration, default: 60s): a client that takes no byte of its answer.
/// - `connect` (duration, default: 1s), `response` (duration, default: 15s): the app's connect and head.
/// - `upstream_idle` (duration, default: 60s): a body or stream of the app without a byte; `stream_idle` (default: 1h)
///   for WebSocket and event streams.
/// - `upstream_keep_alive` (duration, default: 30s): an idle connection to the app.
package struct TimeoutSettings: Sendable, Equatable {
    package var header: Duration = .seconds(10)
    package var idle: Duration = .seconds(75)
    package var bodyRate = 240
    package var bodyGrace: Duration = .seconds(10)
    package var write: Duration = .seconds(60)
    package var connect: Duration = .seconds(1)
    package var response: Duration = .seconds(15)
    package var upstreamIdle: Duration = .seconds(60)
    package var streamIdle: Duration = .seconds(3600)
    package var upstreamKeepAlive: Duration = .seconds(30)

    package init() {}
}

/// How a stop goes.
///
/// ## Configuration keys (`drain`)
/// - `delay` (duration, default: 5s): after SIGTERM readiness is 503 but requests are still served.
/// - `timeout` (duration, default: 30s): then what is in flight may end.
package struct DrainSettings: Sendable, Equatable {
    package var delay: Duration = .seconds(5)
    package var timeout: Duration = .seconds(30)

    package init() {}
}

/// What is written to standard output, one JSON object a line.
///
/// ## Configuration keys (`log`)
/// - `level` (`debug` | `info` | `warning` | `error`, default: info).
/// - `access` (boolean, default: true): a line a request, never with a query string.
/// - `audit` (boolean, default: true): a line a security event; `audit_on_full` (`drop` | `refuse`, default: drop).
/// - `buffer` (size, default: 1MiB): lines that wait for a slow reader; more are dropped and counted.
package struct LogSettings: Sendable, Equatable {
    package enum Level: String, Sendable, CaseIterable { case debug, info, warning, error }
    package var level: Level = .info
    package var access = true
    package var audit = true
    package var auditRefusesWhenFull = false
    package var buffer = 1 << 20

    package init() {}
}
