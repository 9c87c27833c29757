extension Section {
    /// The keys of the whole file.
    package static let file = Section([
        SettingsKey(
            "public_url",
            .text(.publicURL),
            "Shorthand for a single host with endpoints: the URL with which clients reach it."
        ),
        SettingsKey(
            "case_sensitive",
            at: \HostSettings.caseSensitive,
            "Shorthand for case_sensitive of the single host."
        ),
        SettingsKey("same_site", at: \HostSettings.sameSite, "Shorthand for same_site of the single host."),
        SettingsKey("well_known", at: \HostSettings.namesApps, "Shorthand for well_known of the single host."),
        SettingsKey("upstream", .text(.upstream), "The app for every route that has no upstream itself."),
        SettingsKey(
            "routes",
            .sections(.route),
            default: "one route /** with auth required",
            "Shorthand for the routes of the single host."
        ),
        SettingsKey(
            "listen",
            .list(.shorthand("address", for: .listener)),
            default: "127.0.0.1:8080",
            "The addresses for clients. The default is reachable only from this machine."
        ),
        SettingsKey(
            "redirect_http",
            .shorthand("address", for: .redirectListener),
            "An address for plain http that redirects each request to the https public_url of its host: 308, with the same path and query."
        ),
        SettingsKey(
            "strict_transport_security",
            .section(.strictTransport),
            "Makes browsers use only https for all https hosts (Strict-Transport-Security), even if an app says something else."
        ),
        SettingsKey("tls", .section(.tls), "TLS at the gateway's own addresses, without a proxy in front."),
        SettingsKey("admin", .section(.admin), "The listener for operators."),
        SettingsKey(
            "event_loops",
            at: \Settings.eventLoops,
            .integer(1...256),
            default: "the number of cores that the process may use",
            "The number of threads that serve requests."
        ),
        SettingsKey(
            "secret_file",
            .path(isSecret: true),
            default: "a random secret at each start",
            "A file with the secret from which all keys are derived (32 bytes or more). If it has several lines, the first signs and all are accepted."
        ),
        SettingsKey(
            "signing_key_file",
            .path(isSecret: true),
            default: "keys derived from the secret, and an RSA key in the store",
            "A PEM file with signing keys: EC P-256 for assertions, RSA for id_tokens. The first key of each kind signs."
        ),
        SettingsKey(
            "trusted_proxies",
            .list(.text(.addressBlock)),
            default: "none",
            "The proxies whose forwarding field is trusted. Any other client could write a false address into the field."
        ),
        SettingsKey(
            "forwarded_header",
            at: \Settings.forwardedHeader,
            "The field in which trusted proxies report the client's address. Only one is read, because two could contradict each other."
        ),
        SettingsKey(
            "hosts",
            .sections(.host),
            "The hosts that the gateway serves. Requests for other hosts are rejected."
        ),
        SettingsKey("upstreams", .named(.upstream), "Apps by name, for apps that need more settings than a URL."),
        SettingsKey("clients", .sections(.client), "The OAuth clients."),
        SettingsKey("apis", .sections(.api), "The APIs for which access tokens are issued."),
        SettingsKey("provider", .section(.provider), "How users sign in."),
        SettingsKey(
            "providers",
            .sections(.namedProvider),
            "Several providers instead of provider. Hosts and clients choose providers by name. By default, a host has the first, and a client also has those that share a host with the first."
        ),
        SettingsKey(
            "native_social",
            .section(.nativeSocial),
            "Lets native apps sign users in with the tokens or codes that they get from the sign-in kits of Google, Apple and Facebook."
        ),
        SettingsKey("accounts", .section(.accounts), "The linking of users of several providers who are one person."),
        SettingsKey("session", .section(.session), "The lifetimes of sessions, and their cookie."),
        SettingsKey("store", .section(.store), "Where sessions are stored."),
        SettingsKey(
            "exchange",
            .section(.exchange),
            "Web to native: apps sign users in with the browser and exchange two codes for a session token."
        ),
        SettingsKey(
            "handoff",
            .section(.handoff),
            "Where session-transfer tokens are accepted, and how long they are valid."
        ),
        SettingsKey("identity", .section(.identity), "The header fields that carry the user's identity to the app."),
        SettingsKey(
            "authorization",
            .section(.authorization),
            "The listener where other proxies, which forward the requests themselves, ask whether a request is allowed."
        ),
        SettingsKey("asn", .section(.asn), "The source of autonomous system numbers: either a database or a CSV file."),
        SettingsKey(
            "compat",
            .section(.compat),
            "Behaviour for apps and proxies that were configured for other products."
        ),
        SettingsKey("geo", .section(.geo), "The source of the locations of addresses, for rules."),
        SettingsKey(
            "rules",
            .sections(.rule),
            "Rules with conditions, in order. The first rule that denies a request or asks for a sign-in decides."
        ),
        SettingsKey("limits", .section(.limits), "Limits for clients."),
        SettingsKey("timeouts", .section(.timeouts), "Time limits of the gateway."),
        SettingsKey("drain", .section(.drain), "How the gateway shuts down."),
        SettingsKey("log", .section(.log), "The log on standard output."),
        SettingsKey("telemetry", .section(.telemetry), "OpenTelemetry traces, which are sent to a collector."),
        SettingsKey("pages", .section(.pages), "The look and the languages of the gateway's own pages."),
    ])
}
