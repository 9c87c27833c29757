/// Paths, hosts and methods that a gateway and an app read differently.
extension Advisory {
    /// What the gateway decides on is what it forwards.
    static let paths = [
        Advisory(
            id: "CVE-2026-33494",
            about: "Oathkeeper: the raw path is matched, the normalised one is served",
            tests: [
                "CVE-2026-33494, CVE-2026-34908: no spelling of a parent segment makes a protected path public",
                "nginx serves no protected file to an anonymous client",
                "Apache serves no protected file to an anonymous client",
                "Python's server serves no protected file to an anonymous client",
            ]
        ),
        Advisory(
            id: "CVE-2026-34908",
            about: "UniFi OS: nginx matches the raw path, the app serves the normalised one",
            tests: [
                "nginx serves no protected file to an anonymous client",
                "Apache serves no protected file to an anonymous client",
                "Python's server serves no protected file to an anonymous client",
            ]
        ),
        Advisory(
            id: "CVE-2025-66490",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "oathkeeper#1269: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2025-47952",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "oathkeeper#1269: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2026-40912",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "oathkeeper#1269: targets reach the app byte for byte",
                "CVE-2026-40912: a path that would reach the app as another one than was judged is refused",
            ]
        ),
        Advisory(
            id: "CVE-2026-48020",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "oathkeeper#1269: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2026-65600",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "oathkeeper#1269: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "CVE-2026-67309",
            about: "Traefik: decision and forwarded path differ after a rewrite",
            tests: [
                "oathkeeper#1269: targets reach the app byte for byte"
            ]
        ),
        Advisory(
            id: "oathkeeper#1269",
            about: "Oathkeeper: a fix normalises too much and breaks paths of apps (also oathkeeper#1134)",
            tests: [
                "oathkeeper#1269: targets reach the app byte for byte",
                "oathkeeper#1269: targets also reach the app byte for byte on protected routes",
            ]
        ),
        Advisory(
            id: "CVE-2026-26205",
            about: "opa-envoy: the path //admin is read as a host",
            tests: [
                "CVE-2026-26205: //admin/x is a path, not an authority"
            ]
        ),
        Advisory(
            id: "CVE-2025-54576",
            about: "oauth2-proxy: a rule for paths also matches the query",
            tests: [
                "CVE-2025-54576: the query is not part of the path that is matched",
                "nginx serves no protected file to an anonymous client",
                "Apache serves no protected file to an anonymous client",
                "Python's server serves no protected file to an anonymous client",
            ]
        ),
        Advisory(
            id: "CVE-2026-41059",
            about: "oauth2-proxy: a rule for paths also matches the fragment",
            tests: [
                "CVE-2026-41059, CVE-2023-47106, CVE-2021-32779: a fragment does not open a protected path",
                "nginx serves no protected file to an anonymous client",
                "Apache serves no protected file to an anonymous client",
                "Python's server serves no protected file to an anonymous client",
            ]
        ),
        Advisory(
            id: "CVE-2023-47106",
            about: "Traefik: a rule for paths also matches the fragment",
            tests: [
                "CVE-2026-41059, CVE-2023-47106, CVE-2021-32779: a fragment does not open a protected path",
                "nginx serves no protected file to an anonymous client",
                "Apache serves no protected file to an anonymous client",
                "Python's server serves no protected file to an anonymous client",
            ]
        ),
        Advisory(
            id: "CVE-2021-32779",
            about: "Envoy: a rule for paths also matches the fragment",
            tests: [
                "CVE-2026-41059, CVE-2023-47106, CVE-2021-32779: a fragment does not open a protected path",
                "nginx serves no protected file to an anonymous client",
                "Apache serves no protected file to an anonymous client",
                "Python's server serves no protected file to an anonymous client",
            ]
        ),
        Advisory(
            id: "CVE-2026-32811",
            about: "Heimdall: the query becomes part of the path in ext_authz mode",
            reason: "this version forwards requests itself; it does not decide for another proxy"
        ),
        Advisory(
            id: "CVE-2026-48794",
            about: "Authelia: another spelling of the host chooses another rule",
            tests: [
                "CVE-2026-48794, CVE-2026-27588, CVE-2022-23632: all spellings of a host are one host",
                "CVE-2026-48794: a host matches in any case, with its port and with a final dot; no other host is served",
            ]
        ),
        Advisory(
            id: "CVE-2026-27588",
            about: "Caddy: another spelling of the host chooses another rule",
            tests: [
                "CVE-2026-48794, CVE-2026-27588, CVE-2022-23632: all spellings of a host are one host",
                "CVE-2026-48794: a host matches in any case, with its port and with a final dot; no other host is served",
            ]
        ),
        Advisory(
            id: "CVE-2022-23632",
            about: "Traefik: another spelling of the host chooses another rule",
            tests: [
                "CVE-2026-48794, CVE-2026-27588, CVE-2022-23632: all spellings of a host are one host",
                "CVE-2026-48794: a host matches in any case, with its port and with a final dot; no other host is served",
            ]
        ),
        Advisory(
            id: "CVE-2026-27587",
            about: "Caddy: percent-encoded letters are compared by case, plain ones are not",
            tests: [
                "CVE-2026-27587: upper and lower case differ in paths, encoded or not",
                "A path that differs only in case from a stricter route's path is refused, encoded or not",
            ]
        ),
        Advisory(
            id: "P24",
            about: "a pattern that is not anchored matches too much, or takes exponential time",
            tests: [
                "Patterns match the whole path, a dot matches only a dot, and no path takes long to match"
            ]
        ),
        Advisory(
            id: "P25",
            about: "a field or parameter overrides the method after the decision",
            tests: [
                "P25: CONNECT, TRACE and methods that a route does not accept get 405, and an override changes nothing"
            ]
        ),
    ]
}
