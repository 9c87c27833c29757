/// An advisory about another gateway, or a threat of our own model, and what keeps it from happening here.
struct Advisory: Sendable {
    /// The advisory's id; `Cn #m` is a row without one of the list of peers' advisories, `Tn` a row of the threat model.
    var id: String
    var about: String
    /// The display names of the tests that cover it, in any target.
    var tests: [String] = []
    /// Why this path cannot meet it.
    var reason: String?

    /// Identity-header smuggling (C1), paths and hosts (C2), trust in the wrong peer (C3), caches (C4), redirects (C6),
    /// protocol and transport (C8), and the rows of the threat model that concern the request path and the handoff.
    static let table = Self.requests + Self.caches + Self.protocolsAndThreats

    /// C1, C2 and C3.
    private static let requests = [
        Advisory(
            id: "CVE-2025-64484",
            about: "oauth2-proxy: identity fields with underscores survive",
            tests: [
                "T11: a client's identity field reaches no app, in no spelling, on no route",
                "CVE-2025-64484, T11: identity fields are managed in every spelling",
                "Punctuation forges no name that is ours, in any place of the name",
                "No field whose name only looks like ours to a script reaches it",
            ]
        ),
        Advisory(
            id: "CVE-2026-39858",
            about: "Traefik: aliases of forwarding fields survive",
            tests: [
                "C3 #26-#28: the forwarding family of an untrusted client is ours",
                "CVE-2026-39858, CVE-2026-35051, CVE-2026-54764: what proxies say is dropped in every spelling",
            ]
        ),
        Advisory(
            id: "CVE-2026-54763",
            about: "Traefik: aliases of configured names survive",
            tests: [
                "Names of a preset and own names are protected as well (C1 #3, #4)",
                "CVE-2026-54763, CVE-2026-33433: configured names in any spelling are one name",
            ]
        ),
        Advisory(
            id: "CVE-2026-33433",
            about: "Traefik: a configured name in another case is not stripped",
            tests: [
                "Names of a preset and own names are protected as well (C1 #3, #4)"
            ]
        ),
        Advisory(
            id: "CVE-2026-30851",
            about: "Caddy: a field without a value is not deleted",
            tests: [
                "C1 #5: a user without an email has no email field, whatever the client sends",
                "CVE-2026-30851: a client's field is gone also where the session has no value for it",
            ]
        ),
        Advisory(
            id: "CVE-2026-52845",
            about: "Caddy: names that a CGI folds into one",
            tests: [
                "CVE-2026-52845: names that a CGI folds into one are one"
            ]
        ),
        Advisory(
            id: "GHSA-w9mr-28mw-j8hg",
            about: "Oathkeeper: Connection takes the gateway's fields away",
            tests: [
                "T12: Connection cannot take the gateway's fields away, in any case of its letters"
            ]
        ),
        Advisory(
            id: "CVE-2024-45410",
            about: "Traefik: the same",
            tests: [
                "T12: Connection cannot take the gateway's fields away, in any case of its letters"
            ]
        ),
        Advisory(
            id: "CVE-2026-29054",
            about: "Traefik: the same in another case of the letters",
            tests: [
                "T12: Connection cannot take the gateway's fields away, in any case of its letters"
            ]
        ),
        Advisory(
            id: "C1 #8",
            about: "mod_auth_openidc: preflights are not stripped",
            tests: [
                "T11: a client's identity field reaches no app, in no spelling, on no route",
                "mod_auth_openidc 2026: a preflight is stripped like everything else",
            ]
        ),
        Advisory(
            id: "C1 #9",
            about: "mod_auth_openidc: the delimiter within a list element",
            tests: [
                "mod_auth_openidc 2026: a group `a,admin` does not become two"
            ]
        ),
        Advisory(
            id: "C1 #10",
            about: "mod_auth_openidc: line breaks in claims",
            tests: [
                "CVE-2023-27493, mod_auth_openidc 2026: line breaks and NUL in a value refuse it"
            ]
        ),
        Advisory(
            id: "CVE-2023-27493",
            about: "Envoy: values are not escaped",
            tests: [
                "CVE-2023-27493, mod_auth_openidc 2026: line breaks and NUL in a value refuse it"
            ]
        ),
        Advisory(
            id: "CVE-2026-26308",
            about: "Envoy: rules read the first of many fields",
            tests: [
                "C1 #11: credentials that stand twice are refused"
            ]
        ),
        Advisory(
            id: "CVE-2026-31838",
            about: "Istio: the same",
            tests: [
                "C1 #11: credentials that stand twice are refused"
            ]
        ),
        Advisory(
            id: "CVE-2023-27488",
            about: "Envoy: bytes that are no UTF-8 pass the check",
            tests: [
                "C1 #12: bytes that are no UTF-8 neither crash nor pass for something else"
            ]
        ),
        Advisory(
            id: "C1 #13",
            about: "mod_auth_openidc: protocol parameters that stand twice",
            tests: [
                "A parameter that stands twice is refused, and burns nothing"
            ]
        ),
        Advisory(
            id: "CVE-2026-33494",
            about: "Oathkeeper: the raw path is matched, the normalised one served",
            tests: [
                "CVE-2026-33494, CVE-2026-34908: no spelling of a way up makes a protected path public",
                "nginx serves no protected file to a stranger",
                "Apache serves no protected file to a stranger",
                "Python's server serves no protected file to a stranger",
            ]
        ),
        Advisory(
            id: "CVE-2026-34908",
            about: "UniFi OS: the same between nginx and the app",
            tests: [
                "nginx serves no protected file to a stranger",
                "Apache serves no protected file to a stranger",
                "Python's server serves no protected file to a stranger",
            ]
        ),
        Advisory(
            id: "CVE-2025-66490",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "C2 #17: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2025-47952",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "C2 #17: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2026-40912",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "C2 #17: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2026-48020",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "C2 #17: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2026-65600",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "C2 #17: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2026-67309",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "C2 #17: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "C2 #17",
            about: "Oathkeeper #1269, #1134: a fix that normalised too much",
            tests: [
                "C2 #17: targets reach the app byte for byte",
                "C2 #17: on protected routes, too",
            ]
        ),
        Advisory(
            id: "CVE-2026-26205",
            about: "opa-envoy: //admin is taken for an authority",
            tests: [
                "CVE-2026-26205: //admin/x is a path, not an authority"
            ]
        ),
        Advisory(
            id: "CVE-2025-54576",
            about: "oauth2-proxy: the query is matched",
            tests: [
                "CVE-2025-54576: the query is no part of what is matched",
                "nginx serves no protected file to a stranger",
                "Apache serves no protected file to a stranger",
                "Python's server serves no protected file to a stranger",
            ]
        ),
        Advisory(
            id: "CVE-2026-41059",
            about: "oauth2-proxy: a fragment is matched",
            tests: [
                "CVE-2026-41059, CVE-2023-47106, CVE-2021-32779: a fragment opens nothing",
                "nginx serves no protected file to a stranger",
                "Apache serves no protected file to a stranger",
                "Python's server serves no protected file to a stranger",
            ]
        ),
        Advisory(
            id: "CVE-2023-47106",
            about: "Traefik: a fragment is matched",
            tests: [
                "CVE-2026-41059, CVE-2023-47106, CVE-2021-32779: a fragment opens nothing",
                "nginx serves no protected file to a stranger",
                "Apache serves no protected file to a stranger",
                "Python's server serves no protected file to a stranger",
            ]
        ),
        Advisory(
            id: "CVE-2021-32779",
            about: "Envoy: a fragment is matched",
            tests: [
                "CVE-2026-41059, CVE-2023-47106, CVE-2021-32779: a fragment opens nothing",
                "nginx serves no protected file to a stranger",
                "Apache serves no protected file to a stranger",
                "Python's server serves no protected file to a stranger",
            ]
        ),
        Advisory(
            id: "CVE-2026-32811",
            about: "Heimdall: the query becomes part of the path in ext_authz mode",
            reason: "this version proxies; it answers no other proxy's questions"
        ),
        Advisory(
            id: "CVE-2026-48794",
            about: "Authelia: another spelling of the host chooses another rule",
            tests: [
                "CVE-2026-48794, CVE-2026-27588, CVE-2022-23632: one host in every spelling",
                "C2 #22: a host is the same in any case, with its port and with the root's dot; no other is served",
            ]
        ),
        Advisory(
            id: "CVE-2026-27588",
            about: "Caddy: another spelling of the host chooses another rule",
            tests: [
                "CVE-2026-48794, CVE-2026-27588, CVE-2022-23632: one host in every spelling",
                "C2 #22: a host is the same in any case, with its port and with the root's dot; no other is served",
            ]
        ),
        Advisory(
            id: "CVE-2022-23632",
            about: "Traefik: another spelling of the host chooses another rule",
            tests: [
                "CVE-2026-48794, CVE-2026-27588, CVE-2022-23632: one host in every spelling",
                "C2 #22: a host is the same in any case, with its port and with the root's dot; no other is served",
            ]
        ),
        Advisory(
            id: "CVE-2026-27587",
            about: "Caddy: encoded letters are not folded like plain ones",
            tests: [
                "CVE-2026-27587: upper and lower case differ in paths, encoded or not",
                "A path whose letters are another case of a stricter route's is refused, encoded or not",
            ]
        ),
        Advisory(
            id: "C2 #24",
            about: "patterns that are not anchored, or explode",
            tests: [
                "Patterns are anchored, a dot is a dot, and no path makes a walk long"
            ]
        ),
        Advisory(
            id: "C2 #25",
            about: "methods that override methods",
            tests: [
                "C2 #25: CONNECT and TRACE are 405, a route's other methods too, and an override changes nothing"
            ]
        ),
        Advisory(
            id: "CVE-2026-40575",
            about: "oauth2-proxy: X-Forwarded-Uri of anyone",
            tests: [
                "C3 #26-#28: the forwarding family of an untrusted client is ours",
                "CVE-2026-40575, CVE-2026-33495: a direct client's X-Forwarded-Uri and -Proto never reach the app",
            ]
        ),
        Advisory(
            id: "CVE-2026-33495",
            about: "Oathkeeper: X-Forwarded-Proto of anyone",
            tests: [
                "C3 #27: the scheme of URLs that we make is the public URL's, whatever a client or proxy claims"
            ]
        ),
        Advisory(
            id: "CVE-2026-35051",
            about: "Traefik: X-Forwarded-Prefix leaks",
            tests: [
                "C3 #26-#28: the forwarding family of an untrusted client is ours"
            ]
        ),
        Advisory(
            id: "CVE-2026-54764",
            about: "Traefik: X-Forwarded-Port leaks",
            tests: [
                "C3 #26-#28: the forwarding family of an untrusted client is ours"
            ]
        ),
        Advisory(
            id: "C3 #29",
            about: "oauth2-proxy PR #3478: the left-most address counts",
            tests: [
                "T14: X-Forwarded-For is believed of trusted proxies only, from the right, and the app gets one address",
                "oauth2-proxy PR #3478: the right-most untrusted hop counts, whatever a client put before it",
            ]
        ),
        Advisory(
            id: "GHSA-7jmw-8259-q9jx",
            about: "Traefik: IPv4-mapped addresses",
            tests: [
                "GHSA-7jmw-8259-q9jx: a mapped address is trusted as the IPv4 address that it is"
            ]
        ),
        Advisory(
            id: "CVE-2023-27487",
            about: "Envoy: internal control fields from outside",
            tests: [
                "CVE-2023-27487: control fields of a proxy or of ours from outside are stripped"
            ]
        ),
        Advisory(
            id: "CVE-2026-34457",
            about: "oauth2-proxy: a health checker's User-Agent opens everything",
            tests: [
                "C3 #31: a health checker's User-Agent opens nothing"
            ]
        ),
        Advisory(
            id: "C3 #32",
            about: "a configuration that trusts everybody",
            tests: [
                "C3 #32: to trust everybody is refused at the start"
            ]
        ),
        Advisory(
            id: "C3 #33",
            about: "PROXY protocol of anyone",
            tests: [
                "C3 #33: a PROXY protocol line from anyone is no request"
            ]
        ),
    ]
}
