extension Section {
    /// The keys of the whole file.
    package static let file = Section([
        SettingsKey(
            "public_url",
            .text(.publicURL),
            "Shorthand for one host with endpoints: the URL by which clients reach it."
        ),
        SettingsKey(
            "case_sensitive",
            at: \HostSettings.caseSensitive,
            "Shorthand for the case_sensitive of that one host."
        ),
        SettingsKey("same_site", at: \HostSettings.sameSite, "Shorthand for the same_site of that one host."),
        SettingsKey("well_known", at: \HostSettings.namesApps, "Shorthand for the well_known of that one host."),
        SettingsKey("upstream", .text(.upstream), "The app of every route without an upstream of its own."),
        SettingsKey(
            "routes",
            .sections(.route),
            default: "one route /** with auth required",
            "Shorthand for the routes of that one host."
        ),
        SettingsKey(
            "listen",
            .list(.shorthand("address", for: .listener)),
            default: "127.0.0.1:8080",
            "The addresses for clients; the default is reachable from this machine only."
        ),
        SettingsKey(
            "redirect_http",
            .shorthand("address", for: .redirectListener),
            "An address for plain http: a request for a host with https is sent to its public_url by 308, with the same path and query."
        ),
        SettingsKey(
            "strict_transport_security",
            .section(.strictTransport),
            "Tell browsers to use only https for all hosts that have it (Strict-Transport-Security), also where an app says something else."
        ),
        SettingsKey("tls", .section(.tls), "TLS at these addresses, without a proxy in front."),
        SettingsKey("admin", .section(.admin), "The listener for operators."),
        SettingsKey(
            "event_loops",
            at: \Settings.eventLoops,
            .integer(1...256),
            default: "the number of cores that the process may use",
            "Threads that serve requests."
        ),
        SettingsKey(
            "secret_file",
            .path(isSecret: true),
            default: "a random secret at each start",
            "A file with the secret (32 bytes or more) for all keys; of several lines the first signs, and all are accepted."
        ),
        SettingsKey(
            "signing_key_file",
            .path(isSecret: true),
            default: "keys derived from the secret, and an RSA key in the store",
            "A PEM file with keys instead: EC P-256 for assertions, RSA for id_tokens; the first of a kind signs."
        ),
        SettingsKey(
            "trusted_proxies",
            .list(.text(.addressBlock)),
            default: "none",
            "The proxies whose forwarding field is believed. Other clients could write any address into it."
        ),
        SettingsKey(
            "forwarded_header",
            at: \Settings.forwardedHeader,
            "The field in which proxies name the client. Only one is read, because two could contradict each other."
        ),
        SettingsKey("hosts", .sections(.host), "The hosts that are served; requests for others are refused."),
        SettingsKey("upstreams", .named(.upstream), "Apps by name, for apps that need more than a URL."),
        SettingsKey("clients", .sections(.client), "The OAuth clients."),
        SettingsKey("apis", .sections(.api), "What access tokens are issued for."),
        SettingsKey("provider", .section(.provider), "How users sign in."),
        SettingsKey(
            "providers",
            .sections(.namedProvider),
            "Several providers instead of provider: hosts and clients choose one by its name, else they have the first."
        ),
        SettingsKey(
            "native_social",
            .section(.nativeSocial),
            "Native apps may sign users in by what the kits of Google, Apple and Facebook gave them."
        ),
        SettingsKey("accounts", .section(.accounts), "Whether users of several providers can be one person."),
        SettingsKey("session", .section(.session), "How long sessions live, and their cookie."),
        SettingsKey("store", .section(.store), "Where sessions are kept."),
        SettingsKey(
            "exchange",
            .section(.exchange),
            "Web to native: apps sign users in through the browser and get a session token for two codes."
        ),
        SettingsKey("handoff", .section(.handoff), "Where a session-transfer token is accepted and how long it lives."),
        SettingsKey("identity", .section(.identity), "Which fields carry the identity to the app."),
        SettingsKey(
            "authorization",
            .section(.authorization),
            "The listener at which other proxies, which forward the requests themselves, ask whether a request is allowed."
        ),
        SettingsKey("asn", .section(.asn), "The source of autonomous system numbers: a database or a CSV, not both."),
        SettingsKey("compat", .section(.compat), "Behaviour for apps and proxies that were set up for something else."),
        SettingsKey("geo", .section(.geo), "The source of the places of addresses, for rules."),
        SettingsKey(
            "rules",
            .sections(.rule),
            "What is refused on conditions, in order: the first rule that applies decides."
        ),
        SettingsKey("limits", .section(.limits), "What a client may use up."),
        SettingsKey("timeouts", .section(.timeouts), "How long the gateway waits."),
        SettingsKey("drain", .section(.drain), "How the gateway stops."),
        SettingsKey("log", .section(.log), "What is written to standard output."),
        SettingsKey("telemetry", .section(.telemetry), "Traces of OpenTelemetry, sent to a collector."),
        SettingsKey("pages", .section(.pages), "How the gateway's own pages look, and the languages that they speak."),
    ])
}
