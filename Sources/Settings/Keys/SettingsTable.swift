private let second: Duration = .seconds(1)
private let minute: Duration = .seconds(60)
private let hour: Duration = .seconds(3600)
private let day: Duration = .seconds(86_400)

extension Section {
    static let admin = Section([
        SettingsKey(
            "listen",
            .shorthand("address", for: .innerListener),
            default: "127.0.0.1:9090",
            "The address for health, readiness and metrics. It asks for no credentials, so keep it off public networks."
        ),
        SettingsKey(
            "tokens_file",
            .path(isSecret: true),
            default: "none",
            "A file with one line for each operator's token: name, scopes (read, sessions, clients, scim) and SHA-256. Without it the address does not serve users' sessions."
        ),
        SettingsKey(
            "scim",
            .section(.scim),
            "Lets a provider deactivate its users by SCIM 2.0 at /scim/v2, with a token of tokens_file that has the scope scim. A deactivated user is signed out and blocked."
        ),
    ])

    private static let scim = Section(
        [
            SettingsKey("provider", .text(.name), default: "the only provider", "The provider whose users these are."),
            SettingsKey(
                "match",
                .pairs(name: .scimAttribute, value: .text(.traitName)),
                default: "externalId: sub",
                "What a user's externalId equals at sign-in: sub is the provider's own id of the user, and any other name is a trait."
            ),
        ],
        isOption: true
    )

    static let accounts = Section([
        SettingsKey(
            "link",
            at: \Settings.accounts.link,
            "none: users of two providers are two people. verified_email: users with the same verified address at providers with trusted_email are one, who can sign in at each of them."
        ),
        SettingsKey(
            "key_file",
            .path(isSecret: true),
            "A file with 32 bytes or more, which link needs. The subjects of linked users are derived from it, so it must never change."
        ),
    ])

    static let session = Section([
        SettingsKey(
            "idle",
            at: \Settings.session.browser.idle,
            .duration(minute...(day * 30)),
            "A session expires if it is not used for this long."
        ),
        SettingsKey(
            "absolute",
            at: \Settings.session.browser.absolute,
            .duration(minute...(day * 365)),
            "A session expires after this long, even if it is used."
        ),
        SettingsKey(
            "idle_counts",
            at: \Settings.session.idleCounts,
            "What keeps a session in use. traffic: requests and the content of running ones, in both directions and in WebSockets and event streams; requests: only requests."
        ),
        SettingsKey(
            "persistent",
            at: \Settings.session.browser.persistence,
            "Whether users stay signed in after they close the browser, until the session ends. With ask, the sign-in page has a box for it."
        ),
        SettingsKey("native", .section(.nativeLifetimes), "Sessions of native apps, which are valid for longer."),
        SettingsKey(
            "transfer",
            .section(.transferLifetimes),
            "Web sessions that a handoff made, which are valid for a shorter time."
        ),
        SettingsKey(
            "max_per_user",
            .section(.maxPerUser),
            "How many sessions a user may have. Sessions that a handoff made are not counted, because they end with their app."
        ),
        SettingsKey(
            "on_limit",
            at: \Settings.session.onLimit,
            "What happens if a sign-in exceeds max_per_user. end_oldest: the user's oldest session ends; refuse: the sign-in fails."
        ),
        SettingsKey(
            "clear_site_data",
            at: \Settings.session.clearedSiteData,
            .list(.choice(SessionSettings.SiteData.allCases.map(\.rawValue))),
            default: "none",
            "What browsers delete for the site at a sign-out (Clear-Site-Data). cache: pages that Back would show again; storage: what the apps' scripts have stored."
        ),
        SettingsKey(
            "cookie",
            at: \Settings.session.cookieName,
            .text(.token),
            "The name of the session cookie. With the prefix __Host- sibling domains cannot set it."
        ),
    ])

    private static let nativeLifetimes = Section([
        SettingsKey(
            "idle",
            at: \Settings.session.native.idle,
            .duration(minute...(day * 365)),
            "A native app's session expires if it is not used for this long."
        ),
        SettingsKey(
            "absolute",
            at: \Settings.session.native.absolute,
            .duration(minute...(day * 365)),
            "A native app's session expires after this long, even if it is used."
        ),
    ])

    private static let transferLifetimes = Section([
        SettingsKey(
            "idle",
            at: \Settings.session.transfer.idle,
            .duration(minute...(day * 30)),
            "A session that a handoff made expires if it is not used for this long."
        ),
        SettingsKey(
            "absolute",
            at: \Settings.session.transfer.absolute,
            .duration(minute...(day * 365)),
            "A session that a handoff made expires after this long, even if it is used."
        ),
        SettingsKey(
            "persistent",
            at: \Settings.session.transfer.persistence,
            .choice(["never", "always"]),
            "Whether users stay signed in after the browser closes. This is for WebViews that the system ends and brings back."
        ),
    ])

    private static let maxPerUser = Section([
        SettingsKey(
            "browser",
            at: \Settings.session.maxPerUser.browser,
            .integer(1...100),
            default: "none",
            "The maximum number of browsers in which a user is signed in."
        ),
        SettingsKey(
            "native",
            at: \Settings.session.maxPerUser.native,
            .integer(1...100),
            default: "none",
            "The maximum number of a user's native sessions: session tokens, and families of refresh tokens."
        ),
    ])

    static let store = Section([
        SettingsKey(
            "cached_sessions",
            at: \Settings.store.cachedSessions,
            .integer(0...16_777_216),
            "How many sessions each event loop caches for a few seconds. Other sessions are read from the store. 0 means no cache."
        ),
        SettingsKey("memory", .section(.memory), "Sessions in the memory of this process, which end with it."),
        SettingsKey(
            "redis",
            .section(.redis),
            "Sessions in Redis instead of in memory, shared by all gateways that have the same secrets."
        ),
    ])

    static let redis = Section(
        [
            SettingsKey(
                "url",
                .secret(.redisURL),
                environment: "SALLYPORT_REDIS_URL",
                "The Redis URL. It may contain a password and is never shown. Set either this key or url_file."
            ),
            SettingsKey(
                "url_file",
                .path(isSecret: true),
                environment: "SALLYPORT_REDIS_URL_FILE",
                "A file that contains the Redis URL."
            ),
            SettingsKey(
                "require_safe",
                at: \RedisSettings.requireSafe,
                "The gateway is not ready while Redis may evict keys (maxmemory-policy) or fails to save its data."
            ),
            SettingsKey(
                "require_appendonly",
                at: \RedisSettings.requireAppendOnly,
                "The gateway is not ready while Redis has appendonly no, because after a crash Redis may bring back sessions that had ended."
            ),
        ],
        isOption: true
    )

    private static let memory = Section([
        SettingsKey(
            "max_sessions",
            at: \Settings.store.maxSessions,
            .integer(1...100_000_000),
            "The maximum number of sessions. Further sign-ins get 503; no session is evicted."
        ),
        SettingsKey(
            "max_markers",
            at: \Settings.store.maxMarkers,
            .integer(1...100_000_000),
            "How many used tokens are remembered, so that they cannot be used again."
        ),
    ])

    static let handoff = Section([
        SettingsKey(
            "cookies",
            at: \Settings.handoff.cookieNames,
            .list(.text(.token)),
            "The cookies in which the token is accepted."
        ),
        SettingsKey(
            "query",
            at: \Settings.handoff.queryParameter,
            .text(.token),
            "The query parameter in which the token is accepted."
        ),
        SettingsKey(
            "lifetime",
            at: \Settings.handoff.lifetime,
            .duration(second...(second * 300)),
            default: "60s",
            "How long a token is valid: long enough to open a browser, and no longer."
        ),
        SettingsKey(
            "share",
            at: \Settings.handoff.isShared,
            "Whether a handoff on a host without endpoints also signs the browser in on the first host with endpoints."
        ),
        SettingsKey(
            "confirm",
            at: \Settings.handoff.confirmation,
            "Which tokens in the query are used only after the user confirms it on a page. cross_site: those in links on other sites; always: all; never: none, and links on other sites are rejected."
        ),
    ])

    static let asn = Section([
        SettingsKey(
            "database",
            .path(isSecret: false),
            "An .mmdb file of MaxMind (autonomous_system_number) or IPinfo (asn)."
        ),
        SettingsKey("csv", .path(isSecret: false), "A CSV file with lines of prefix,asn."),
    ])

    static let geo = Section(
        [
            SettingsKey(
                "database",
                .path(isSecret: false),
                required: true,
                "An .mmdb file with countries, such as MaxMind's GeoLite2-City or GeoIP2-City, or one of IPinfo."
            )
        ],
        isOption: true
    )

    static let pages = Section([
        SettingsKey("name", .text(.text), default: "none", "The site's name, above each page."),
        SettingsKey(
            "logo",
            .path(isSecret: false),
            default: "none",
            "A PNG, JPEG, GIF, WebP or SVG image of at most 64KiB, instead of the name. It is embedded in the pages."
        ),
        SettingsKey(
            "icon",
            .path(isSecret: false),
            default: "a door in pages.colour",
            "An image for the browser's tab, in the same formats as logo. It is embedded in the pages, so a few KiB are best."
        ),
        SettingsKey(
            "colour",
            .text(.colour),
            default: "blue",
            "The colour of buttons. Their text is white or black."
        ),
        SettingsKey("support_url", .text(.supportURL), default: "none", "The target of the help link on each page."),
        SettingsKey(
            "change_password_url",
            .text(.loginPage),
            default: "none",
            "The page where users change their passwords. The list of sessions links to it, and password managers are redirected there from /.well-known/change-password on every host."
        ),
        SettingsKey(
            "languages",
            .list(.text(.languageTag)),
            default: "en, de, fr, es",
            "The languages of the pages, from which the browser chooses. Browsers that ask for none of them get the first."
        ),
        SettingsKey(
            "templates_dir",
            .path(isSecret: false),
            default: "none",
            "A directory with page.html or templates for single pages, style.css, and texts such as pt.yaml. All files are read at start and at reload."
        ),
    ])

    static let limits = Section([
        SettingsKey(
            "request_line",
            at: \Settings.limits.requestLine,
            .size(256...65_536, orNone: false),
            "The longest request line. A longer one gets 414."
        ),
        SettingsKey(
            "field",
            at: \Settings.limits.field,
            .size(256...262_144, orNone: false),
            "The largest header field. A larger one gets 431."
        ),
        SettingsKey(
            "fields",
            at: \Settings.limits.fields,
            .size(1024...1_048_576, orNone: false),
            "The largest size of all header fields of a request together. More gets 431."
        ),
        SettingsKey(
            "field_count",
            at: \Settings.limits.fieldCount,
            .integer(8...1000),
            "The maximum number of header fields of a request. More get 431."
        ),
        SettingsKey(
            "body",
            at: \Settings.limits.body,
            .size(0...(1 << 50), orNone: true),
            default: "none",
            "The largest request body. A larger one gets 413."
        ),
        SettingsKey(
            "connections",
            at: \Settings.limits.connections,
            .integer(1...1_000_000),
            "The maximum number of open client connections."
        ),
        SettingsKey(
            "connections_per_address",
            at: \Settings.limits.connectionsPerAddress,
            .integer(0...1_000_000),
            default: "half of connections",
            "The maximum number of open connections of one client address (IPv6: one /64), except trusted_proxies. 0 means no limit."
        ),
        SettingsKey(
            "requests_per_connection",
            at: \Settings.limits.requestsPerConnection,
            .integer(1...1_000_000_000),
            "After this many requests a connection closes, so that load balancers can move it."
        ),
        SettingsKey(
            "drain_body",
            at: \Settings.limits.drainBody,
            .size(0...16_777_216, orNone: false),
            "Before an answer of its own, the gateway waits up to 2 s for the rest of a body up to this size. Otherwise it closes the connection."
        ),
        SettingsKey("http2", .section(.http2), "Limits for HTTP/2 connections."),
    ])

    private static let http2 = Section([
        SettingsKey(
            "streams",
            at: \Settings.limits.http2.streams,
            .integer(1...1000),
            "The maximum number of requests at a time on one connection. Each lasts until it has also ended for its app."
        )
    ])

    static let timeouts = Section([
        SettingsKey(
            "header",
            at: \Settings.timeouts.header,
            .duration(second...(minute * 10)),
            "The total time from connecting, or from a request's first byte, to the end of its head."
        ),
        SettingsKey(
            "idle",
            at: \Settings.timeouts.idle,
            .duration(second...hour),
            "How long a connection may stay open without a request."
        ),
        SettingsKey(
            "body_rate",
            at: \Settings.timeouts.bodyRate,
            .size(0...1_073_741_824, orNone: false),
            "The lowest average rate of a request body in bytes per second, after body_grace. 0 means no limit."
        ),
        SettingsKey(
            "body_grace",
            at: \Settings.timeouts.bodyGrace,
            .duration(second...hour),
            "The time before body_rate applies."
        ),
        SettingsKey(
            "write",
            at: \Settings.timeouts.write,
            .duration(second...hour),
            default: "60s",
            "How long a client may accept no byte of a response, or an app no byte of a request body. Slow clients and apps accept some."
        ),
        SettingsKey(
            "connect",
            at: \Settings.timeouts.connect,
            .duration(.milliseconds(10)...minute),
            "How long an app may accept no connection while requests wait for one. A refused connection is retried for 3s of this time."
        ),
        SettingsKey(
            "queue",
            at: \Settings.timeouts.queue,
            .duration(.milliseconds(10)...hour),
            "How long a request may wait for a connection to an app while all are in use."
        ),
        SettingsKey(
            "response",
            at: \Settings.timeouts.response,
            .duration(.milliseconds(10)...hour),
            default: "60s",
            "How long the app may take until the head of its response is complete."
        ),
        SettingsKey(
            "upstream_idle",
            at: \Settings.timeouts.upstreamIdle,
            .duration(second...hour),
            default: "60s",
            "How long an app may send no byte of a response body."
        ),
        SettingsKey(
            "stream_idle",
            at: \Settings.timeouts.streamIdle,
            .duration(second...(day * 7)),
            "How long a WebSocket or event stream may be silent. They are often silent for long."
        ),
        SettingsKey(
            "upstream_keep_alive",
            at: \Settings.timeouts.upstreamKeepAlive,
            .duration(.milliseconds(100)...hour),
            "How long an idle connection to an app is kept. Choose less than the app's own limit."
        ),
    ])

    static let drain = Section([
        SettingsKey(
            "delay",
            at: \Settings.drain.delay,
            .duration(.zero...hour),
            "How long requests are still served after SIGTERM while readiness is 503, so that load balancers notice."
        ),
        SettingsKey(
            "timeout",
            at: \Settings.drain.timeout,
            .duration(.zero...hour),
            "How long running requests may take to end after delay."
        ),
    ])

    static let log = Section([
        SettingsKey("level", at: \Settings.logs.level, "The lowest level of lines that are written."),
        SettingsKey(
            "format",
            at: \Settings.logs.format,
            "The form of lines. json: one JSON object per line; text: for people; auto: text on a terminal and JSON elsewhere."
        ),
        SettingsKey("access", at: \Settings.logs.access, "One line for each request, never with a query string."),
        SettingsKey("audit", at: \Settings.logs.audit, "One line for each security event."),
        SettingsKey(
            "audit_on_full",
            .choice(["drop", "refuse"]),
            default: "drop",
            "What happens if there is no room for an audit line. drop: it is dropped and counted; refuse: the request that causes it is rejected."
        ),
        SettingsKey(
            "buffer",
            at: \Settings.logs.buffer,
            .size(4096...1_073_741_824, orNone: false),
            "The room for lines that wait for a slow reader. If it is full, lines are dropped and counted; requests never wait."
        ),
    ])
}
