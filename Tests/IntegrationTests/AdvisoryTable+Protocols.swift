/// Redirects, transport and denial of service.
extension Advisory {
    /// Open redirects, framing, floods, TLS, logs and settings.
    static let protocols = [
        Advisory(
            id: "CVE-2022-23527",
            about: "mod_auth_openidc: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "CVE-2020-4037",
            about: "oauth2-proxy: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "CVE-2020-5233",
            about: "oauth2-proxy: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "CVE-2020-11053",
            about: "oauth2-proxy: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "CVE-2024-52003",
            about: "Traefik: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "CVE-2021-29651",
            about: "Pomerium: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "P57",
            about: "Oathkeeper: the page to return to is built from X-Forwarded-Host of any client",
            tests: [
                "CVE-2026-33495: URLs that the gateway makes have the public URL's scheme, whatever a client or proxy claims"
            ]
        ),
        Advisory(
            id: "CVE-2026-41181",
            about: "Traefik: the client's credentials are sent to the service of error pages",
            reason: "the gateway makes its error pages itself; there is no such service"
        ),
        Advisory(
            id: "P59",
            about: "a token stays in the URL or the log after its use",
            tests: [
                "By query: a new session, and a redirect to the same URL byte for byte without the token (T2)",
                "The access log has path, status and reason of each request, and never a query or a token",
            ]
        ),
        Advisory(
            id: "CVE-2026-71324",
            about: "Traefik: unread bytes desynchronise a shared connection",
            tests: [
                "CVE-2026-71324: bytes after an answer are dropped, and the connection to the app is closed",
                "An answer that arrives before the body is sent is passed on, and neither connection is reused",
            ]
        ),
        Advisory(
            id: "CVE-2026-88008",
            about: "Traefik: h2c upgrades are forwarded",
            tests: [
                "CVE-2026-88008: other upgrades are stripped and answered as plain requests"
            ]
        ),
        Advisory(
            id: "CVE-2026-88007",
            about: "Traefik: NTLM binds one identity to a connection that others share",
            tests: [
                "CVE-2026-88007: a connection that NTLM or Negotiate has bound to one client is not used for another"
            ]
        ),
        Advisory(
            id: "P75",
            about: "request smuggling by framing that two parsers read differently",
            tests: [
                "T13: a body that breaks its framing gets 400, and never reaches the app completely",
                "An answer by the gateway waits for a small unread body, and closes the connection for a large or late one",
            ]
        ),
        Advisory(
            id: "CVE-2026-26998",
            about: "Traefik: the authentication server's body has no size limit",
            reason: "this version asks no provider over the network"
        ),
        Advisory(
            id: "CVE-2024-28869",
            about: "Traefik: slow clients use up the connections",
            tests: [
                "F18: The deadline for a head is for all of it: bytes that keep arriving do not extend it",
                "F18: Hundreds of slow heads do not delay another client",
            ]
        ),
        Advisory(
            id: "GHSA-4hjq-9h5c-252j",
            about: "Traefik: HTTP/2 frames make the server panic",
            reason: "this version supports only HTTP/1"
        ),
        Advisory(
            id: "CVE-2021-39162",
            about: "Envoy: HTTP/2 resets make the server crash",
            reason: "this version supports only HTTP/1"
        ),
        Advisory(
            id: "P78",
            about: "HTTP/2 resets and CONTINUATION frames flood a server",
            reason: "this version supports only HTTP/1"
        ),
        Advisory(
            id: "P80",
            about: "mod_auth_openidc: a compressed token expands to a huge size",
            reason: "no JWE is accepted, compressed or not"
        ),
        Advisory(
            id: "CVE-2026-31923",
            about: "APISIX: TLS certificates are not verified by default",
            tests: [
                "TLS to the app: its CA and its name are checked, and it gets the name by SNI"
            ]
        ),
        Advisory(
            id: "CVE-2022-24797",
            about: "Pomerium: the metrics port serves pprof",
            tests: [
                "The admin listener serves health, readiness and metrics and nothing else"
            ]
        ),
        Advisory(
            id: "CVE-2022-23469",
            about: "Traefik: credentials are written to the log",
            tests: [
                "No token, cookie or password that the suite has used appears in any gateway's output"
            ]
        ),
        Advisory(
            id: "P84",
            about: "comparing secrets or looking up users takes a time that tells the result",
            tests: [
                "Comparison sees a difference at every place and of every length",
                "A wrong password and an unknown user get the same answer",
                "When the workers are busy, known and unknown users get the same answer: unavailable",
            ]
        ),
        Advisory(
            id: "CVE-2026-29777",
            about: "Traefik: rules injected into the configuration",
            reason: "configuration is read only from the file and its variables"
        ),
        Advisory(
            id: "CVE-2026-32695",
            about: "Traefik: rules injected into the configuration",
            reason: "configuration is read only from the file and its variables"
        ),
        Advisory(
            id: "P85",
            about: "Oathkeeper: templates read the environment",
            reason: "there are no templates"
        ),
    ]
}
