internal import Vocabulary

private let second: Duration = .seconds(1)
private let minute: Duration = .seconds(60)
private let hour: Duration = .seconds(3600)
private let day: Duration = .seconds(86_400)

extension Section {
    /// The whole file.
    package static let file = Section([
        SettingsKey(
            "public_url",
            .text(.publicURL),
            "Shorthand for one host with endpoints: the URL clients reach it by."
        ),
        SettingsKey(
            "case_sensitive",
            .boolean,
            default: "false",
            "Shorthand for that one host's: its apps tell /Admin from /admin."
        ),
        SettingsKey("upstream", .text(.upstream), "The app of every route that names none."),
        SettingsKey(
            "routes",
            .sections(.route),
            default: "one route /** with auth required",
            "Shorthand for the routes of that one host."
        ),
        SettingsKey(
            "listen",
            .list(.text(.listenAddress)),
            default: "127.0.0.1:8080",
            "Where clients connect; beyond loopback only when you say so."
        ),
        SettingsKey("admin", .section(.admin), "The listener for operators."),
        SettingsKey(
            "event_loops",
            .integer(1...256),
            default: "the number of cores",
            "Threads that serve requests."
        ),
        SettingsKey(
            "secret_file",
            .path(isSecret: true),
            default: "a random secret at each start",
            "The secret of 32 bytes or more from which every key is derived; of several lines the first signs, all are accepted."
        ),
        SettingsKey(
            "trusted_proxies",
            .list(.text(.addressBlock)),
            default: "none",
            "Peers whose forwarded field is believed; anyone else could name any address."
        ),
        SettingsKey(
            "forwarded_header",
            .choice(ForwardedHeader.allCases.map(\.rawValue)),
            default: "x-forwarded-for",
            "The one field that names the client; reading both would let one contradict the other."
        ),
        SettingsKey("hosts", .sections(.host), "The hosts that clients ask for; any other is refused."),
        SettingsKey("upstreams", .named(.upstream), "Apps by name, for those that need more than a URL."),
        SettingsKey("clients", .sections(.client), "OAuth clients that may mint or consume session-transfer tokens."),
        SettingsKey("provider", .section(.provider), "Who proves that users are who they say."),
        SettingsKey("session", .section(.session), "How long sessions live, and their cookie."),
        SettingsKey("store", .section(.store), "Where sessions are kept."),
        SettingsKey("handoff", .section(.handoff), "Where a session-transfer token may stand and how long it lives."),
        SettingsKey("identity", .section(.identity), "Which fields carry the identity to the app."),
        SettingsKey("asn", .section(.asn), "The source of autonomous system numbers: a database or a CSV, not both."),
        SettingsKey("limits", .section(.limits), "What a client may use up."),
        SettingsKey("timeouts", .section(.timeouts), "How long the gateway waits."),
        SettingsKey("drain", .section(.drain), "How a stop goes."),
        SettingsKey("log", .section(.log), "What is written to standard output."),
    ])

    private static let admin = Section([
        SettingsKey(
            "listen",
            .text(.listenAddress),
            default: "127.0.0.1:9090",
            "Health, readiness and metrics; unauthenticated, so keep it off public networks."
        )
    ])

    private static let provider = Section([
        SettingsKey("static", .section(.staticProvider), "Users in the configuration, for demo and tests.")
    ])

    private static let staticProvider = Section([
        SettingsKey("users", .sections(.user), "The users."),
        SettingsKey(
            "users_file",
            .path(isSecret: false),
            environment: "SALLYPORT_USERS_FILE",
            "A YAML file with the list of users instead."
        ),
    ])

    /// An element of `provider.static.users`, and of a users file.
    static let user = Section([
        SettingsKey("identifier", .text(.text), required: true, "What the user types: an email address or a name."),
        SettingsKey("id", .text(.text), default: "the identifier", "The subject that apps see; never reuse one."),
        SettingsKey(
            "password_hash",
            .secret(.passwordHash),
            required: true,
            "Scrypt, so that the file tells no password."
        ),
        SettingsKey("traits", .document, default: "{}", "What apps may learn of the user, e.g. email, name, groups."),
        SettingsKey(
            "aal",
            .choice(AssuranceLevel.demandable.map(\.rawValue)),
            default: "aal1",
            "The assurance that a sign-in reaches."
        ),
    ])

    private static let session = Section([
        SettingsKey("idle", .duration(minute...(day * 30)), default: "30m", "A session unused for so long ends."),
        SettingsKey(
            "absolute",
            .duration(minute...(day * 365)),
            default: "12h",
            "A session ends after so long, used or not."
        ),
        SettingsKey("native", .section(.nativeLifetimes), "Sessions of native apps, which live longer."),
        SettingsKey("transfer", .section(.transferLifetimes), "Web sessions born of a handoff, which live shorter."),
        SettingsKey(
            "cookie",
            .text(.token),
            default: "__Host-sallyport",
            "The prefix __Host- keeps sibling domains from setting it."
        ),
    ])

    private static let nativeLifetimes = Section([
        SettingsKey("idle", .duration(minute...(day * 365)), default: "30d", "As above."),
        SettingsKey("absolute", .duration(minute...(day * 365)), default: "90d", "As above."),
    ])

    private static let transferLifetimes = Section([
        SettingsKey("idle", .duration(minute...(day * 30)), default: "15m", "As above."),
        SettingsKey("absolute", .duration(minute...(day * 365)), default: "30m", "As above."),
    ])

    private static let store = Section([
        SettingsKey(
            "cached_sessions",
            .integer(0...16_777_216),
            default: "65536",
            "Sessions that each event loop keeps at hand for seconds; a request for another one asks the store. 0: all do."
        ),
        SettingsKey("memory", .section(.memory), "Sessions in this process; they end with it."),
        SettingsKey(
            "redis",
            .section(.redis),
            "Sessions in Redis instead, shared by every gateway that has the same secrets."
        ),
    ])

    private static let redis = Section([
        SettingsKey(
            "url",
            .secret(.redisURL),
            environment: "SALLYPORT_REDIS_URL",
            "Where Redis is. It may hold a password and is never shown. Either this or url_file."
        ),
        SettingsKey(
            "url_file",
            .path(isSecret: true),
            environment: "SALLYPORT_REDIS_URL_FILE",
            "A file with the URL instead."
        ),
        SettingsKey(
            "require_safe",
            .boolean,
            default: "true",
            "Not ready while Redis could push out what it must remember, or fails to save it."
        ),
        SettingsKey(
            "require_appendonly",
            .boolean,
            default: "false",
            "Not ready while Redis has appendonly no: a crash of it may then bring back sessions that had ended."
        ),
    ])

    private static let memory = Section([
        SettingsKey(
            "max_sessions",
            .integer(1...100_000_000),
            default: "1000000",
            "When full, sign-in is 503; no session is pushed out."
        ),
        SettingsKey(
            "max_markers",
            .integer(1...100_000_000),
            default: "1000000",
            "Used-up tokens that are remembered; forgetting one would allow its replay."
        ),
    ])

    private static let handoff = Section([
        SettingsKey(
            "cookies",
            .list(.text(.token)),
            default: "auth0_session_transfer_token, session_transfer_token",
            "Cookies that may carry the token."
        ),
        SettingsKey(
            "query",
            .text(.token),
            default: "session_transfer_token",
            "The query parameter that may carry it."
        ),
        SettingsKey(
            "lifetime",
            .duration(second...(second * 300)),
            default: "60s",
            "Long enough to open a browser, too short to be worth stealing."
        ),
    ])

    private static let asn = Section([
        SettingsKey("database", .path(isSecret: false), "A MaxMind .mmdb with autonomous_system_number."),
        SettingsKey("csv", .path(isSecret: false), "Lines of prefix,asn."),
    ])

    private static let limits = Section([
        SettingsKey("request_line", .size(256...65_536, orNone: false), default: "8KiB", "More is 414."),
        SettingsKey("field", .size(256...262_144, orNone: false), default: "16KiB", "One field; more is 431."),
        SettingsKey("fields", .size(1024...1_048_576, orNone: false), default: "64KiB", "All fields; more is 431."),
        SettingsKey("field_count", .integer(8...1000), default: "100", "More is 431."),
        SettingsKey("body", .size(0...(1 << 50), orNone: true), default: "none", "A request body; more is 413."),
        SettingsKey(
            "connections",
            .integer(1...1_000_000),
            default: "10000",
            "Open client connections."
        ),
        SettingsKey(
            "connections_per_address",
            .integer(0...1_000_000),
            default: "half of connections",
            "For each client address (IPv6: each /64), trusted_proxies excepted; 0 is no limit."
        ),
        SettingsKey(
            "requests_per_connection",
            .integer(1...1_000_000_000),
            default: "10000",
            "Then the connection closes, so that load spreads again."
        ),
        SettingsKey(
            "drain_body",
            .size(0...16_777_216, orNone: false),
            default: "64KiB",
            "An unread body up to this size is read away after our own answer; else the connection closes."
        ),
    ])

    private static let timeouts = Section([
        SettingsKey(
            "header",
            .duration(second...(minute * 10)),
            default: "10s",
            "From connecting, or from a request's first byte, to the end of its head, in total: nobody can stretch it."
        ),
        SettingsKey("idle", .duration(second...hour), default: "75s", "A kept-alive connection without a request."),
        SettingsKey(
            "body_rate",
            .size(0...1_073_741_824, orNone: false),
            default: "240",
            "Bytes a second that a request body must reach on average after body_grace; 0 is no limit."
        ),
        SettingsKey("body_grace", .duration(second...hour), default: "10s", "Time before body_rate is judged."),
        SettingsKey("write", .duration(second...hour), default: "60s", "A client that takes no byte of its answer."),
        SettingsKey("connect", .duration(.milliseconds(10)...minute), default: "1s", "To connect to the app."),
        SettingsKey("response", .duration(.milliseconds(10)...hour), default: "15s", "To the end of the app's head."),
        SettingsKey("upstream_idle", .duration(second...hour), default: "60s", "A body of the app without a byte."),
        SettingsKey(
            "stream_idle",
            .duration(second...(day * 7)),
            default: "1h",
            "The same for WebSocket and event streams, which are silent by nature."
        ),
        SettingsKey(
            "upstream_keep_alive",
            .duration(.milliseconds(100)...hour),
            default: "30s",
            "An idle connection to the app; keep it below the app's own."
        ),
    ])

    private static let drain = Section([
        SettingsKey(
            "delay",
            .duration(.zero...hour),
            default: "5s",
            "After SIGTERM readiness is 503 for so long while requests are served, so that balancers notice."
        ),
        SettingsKey("timeout", .duration(.zero...hour), default: "30s", "Then what is in flight has so long to end."),
    ])

    private static let log = Section([
        SettingsKey(
            "level",
            .choice(LogSettings.Level.allCases.map(\.rawValue)),
            default: "info",
            "The least that is written."
        ),
        SettingsKey("access", .boolean, default: "true", "A line a request, never with a query string."),
        SettingsKey("audit", .boolean, default: "true", "A line a security event."),
        SettingsKey(
            "audit_on_full",
            .choice(["drop", "refuse"]),
            default: "drop",
            "When no audit line can be kept: go on and count it, or refuse what would have caused it."
        ),
        SettingsKey(
            "buffer",
            .size(4096...1_073_741_824, orNone: false),
            default: "1MiB",
            "Lines that wait for a slow reader; more are dropped and counted, as requests never wait for a log."
        ),
    ])
}
