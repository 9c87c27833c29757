/// The second half of the table.
extension Advisory {
    /// C6, C8 and the rows of the threat model.
    static let protocolsAndThreats = [
        Advisory(
            id: "CVE-2022-23527",
            about: "mod_auth_openidc: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "GHSA-5m6c",
            about: "oauth2-proxy: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "GHSA-qqxw",
            about: "oauth2-proxy: open redirects",
            tests: [
                "The login page leads back to exactly the page that was asked for, and nowhere else",
                "What could lead to another host is refused",
            ]
        ),
        Advisory(
            id: "GHSA-j7px",
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
            id: "C6 #57",
            about: "Oathkeeper: return_to made of X-Forwarded-Host",
            tests: [
                "C3 #27: the scheme of URLs that we make is the public URL's, whatever a client or proxy claims"
            ]
        ),
        Advisory(
            id: "CVE-2026-41181",
            about: "Traefik: credentials are sent to the service of error pages",
            reason: "every refusal is answered here; there is no such service"
        ),
        Advisory(
            id: "C6 #59",
            about: "a token stays in the URL or the log",
            tests: [
                "By query: a new session, and a redirect to the same URL byte for byte without the token (T2)",
                "The access log tells path, status and reason of each request, and never a query or a token",
            ]
        ),
        Advisory(
            id: "CVE-2026-71324",
            about: "Traefik: unread bytes desynchronise a shared connection",
            tests: [
                "C8 #72: bytes behind an answer are nobody's, and end the connection to the app",
                "An answer that comes before the body has gone is passed on, and neither connection is used again",
            ]
        ),
        Advisory(
            id: "CVE-2026-88008",
            about: "Traefik: h2c upgrades are forwarded",
            tests: [
                "C8 #73: other upgrades are stripped and answered as plain requests"
            ]
        ),
        Advisory(
            id: "CVE-2026-88007",
            about: "Traefik: NTLM binds an identity to a shared connection",
            tests: [
                "C8 #74: a connection that NTLM or Negotiate has bound to one client is not used for another"
            ]
        ),
        Advisory(
            id: "C8 #75",
            about: "request smuggling",
            tests: [
                "T13: a body that breaks its framing is 400, and the app never sees it end",
                "After an answer of ours a small unread body is read away and a big one ends the connection",
            ]
        ),
        Advisory(
            id: "CVE-2026-26998",
            about: "Traefik: the body of an authentication server without a limit",
            reason: "no provider of this version is asked over the network"
        ),
        Advisory(
            id: "CVE-2024-28869",
            about: "Traefik: slow clients",
            tests: [
                "A head has its time in total: bytes that keep coming do not stretch it",
                "Hundreds of slow heads do not delay a good client",
            ]
        ),
        Advisory(id: "GHSA-4hjq", about: "HTTP/2 resets and floods", reason: "this version speaks HTTP/1 alone"),
        Advisory(id: "CVE-2021-39162", about: "HTTP/2 resets and floods", reason: "this version speaks HTTP/1 alone"),
        Advisory(id: "C8 #78", about: "HTTP/2 resets and floods", reason: "this version speaks HTTP/1 alone"),
        Advisory(id: "CVE-2024-39321", about: "Traefik: early data", reason: "this version ends no TLS"),
        Advisory(
            id: "C8 #80",
            about: "compressed tokens that explode",
            reason: "no JWE is accepted, compressed or not"
        ),
        Advisory(
            id: "CVE-2026-31923",
            about: "APISIX: TLS verification is off",
            tests: [
                "TLS to the app: its CA and its name are checked, and it learns the name that was asked for"
            ]
        ),
        Advisory(
            id: "CVE-2022-24797",
            about: "Pomerium: pprof on the metrics port",
            tests: [
                "The admin listener serves health, readiness and metrics and nothing else"
            ]
        ),
        Advisory(
            id: "CVE-2022-23469",
            about: "Traefik: credentials in logs",
            tests: [
                "No token, cookie or password that the suite was given stands in any gateway's output"
            ]
        ),
        Advisory(
            id: "C8 #84",
            about: "comparison and enumeration by time",
            tests: [
                "Comparison sees a difference at every place and of every length",
                "A wrong password and an unknown user get the same answer",
                "When the workers are busy, known and unknown users alike are told to come again",
            ]
        ),
        Advisory(
            id: "CVE-2026-29777",
            about: "Traefik: rules injected into the configuration",
            reason: "no configuration is read from anywhere but the file and its variables"
        ),
        Advisory(
            id: "CVE-2026-32695",
            about: "Traefik: the same",
            reason: "no configuration is read from anywhere but the file and its variables"
        ),
        Advisory(id: "C8 #85", about: "templates that read the environment", reason: "there are no templates"),
        Advisory(
            id: "T1",
            about: "a stolen token from another device",
            tests: [
                "T1: from another address the token signs nobody in and is burned; the log names both addresses"
            ]
        ),
        Advisory(
            id: "T2",
            about: "the token leaks downstream",
            tests: [
                "By query: a new session, and a redirect to the same URL byte for byte without the token (T2)",
                "On a public route with handoff the token does not reach the app, used or not",
                "No token, cookie or password that the suite was given stands in any gateway's output",
            ]
        ),
        Advisory(
            id: "T3",
            about: "a preview or prefetch burns the token",
            tests: [
                "T3: HEAD, prefetch, preview and subresources burn nothing, and the app never sees the token"
            ]
        ),
        Advisory(
            id: "T4",
            about: "two browsers race",
            tests: [
                "T4: of many browsers that race for one token exactly one is signed in",
                "T4: of 64 consumers exactly one is signed in, and exactly one session is made",
            ]
        ),
        Advisory(
            id: "T5",
            about: "replay from elsewhere",
            tests: [
                "T5: whoever replays a token is not signed in, and the first session lives on"
            ]
        ),
        Advisory(
            id: "T6",
            about: "the browser repeats its navigation",
            tests: [
                "T6: the browser that was signed in repeats its navigation and keeps its session"
            ]
        ),
        Advisory(
            id: "T7",
            about: "login CSRF by a link",
            tests: [
                "T7: a link on another site signs nobody in, and burns nothing",
                "T7: another user's session and the token end each other, and login follows",
            ]
        ),
        Advisory(
            id: "T8",
            about: "session fixation",
            tests: [
                "T8: an id that a client brings along is never adopted; signing in gives a new one and ends the old"
            ]
        ),
        Advisory(
            id: "T9",
            about: "cookies tossed from a sibling subdomain",
            tests: [
                "T9: two transfer cookies of different value are not used, and both are cleared",
                "Two session cookies sign nobody in, are cleared, and lock nobody out",
            ]
        ),
        Advisory(
            id: "T11",
            about: "spoofed identity fields",
            tests: [
                "T11: a client's identity field reaches no app, in no spelling, on no route"
            ]
        ),
        Advisory(
            id: "T12",
            about: "Connection nominates identity fields",
            tests: [
                "T12: Connection cannot take the gateway's fields away, in any case of its letters"
            ]
        ),
        Advisory(
            id: "T13",
            about: "request smuggling",
            tests: [
                "T13: a body that breaks its framing is 400, and the app never sees it end",
                "Pipelined requests with bodies are cut apart where their framing says, byte by byte",
            ]
        ),
        Advisory(
            id: "T14",
            about: "spoofed forwarding fields",
            tests: [
                "T14: X-Forwarded-For is believed of trusted proxies only, from the right, and the app gets one address",
                "T14: a peer that is not trusted speaks for itself alone",
            ]
        ),
        Advisory(
            id: "T15",
            about: "spellings of one address",
            tests: [
                "T15: one device in two spellings of its address is one device",
                "T15: ports, brackets, zone ids, case and mapped addresses are spellings of one address",
            ]
        ),
        Advisory(
            id: "T16",
            about: "the address family changes within a minute",
            tests: [
                "T16, T17: each mode that knows networks accepts what its name says, and nothing unknown"
            ]
        ),
        Advisory(
            id: "T17",
            about: "networks that nobody knows",
            tests: [
                "T16, T17: each mode that knows networks accepts what its name says, and nothing unknown",
                "T17: a client that needs networks does not start without any",
                "A reload takes the new file, and keeps the last good content when that is broken or gone (T17)",
            ]
        ),
        Advisory(
            id: "T18",
            about: "6to4 and Teredo",
            tests: [
                "T16, T17: each mode that knows networks accepts what its name says, and nothing unknown",
                "T18: an address that carries another one across has no network, even where a database names one",
            ]
        ),
        Advisory(
            id: "T30",
            about: "Redis is down, slow, failing over or busy",
            tests: [
                "Rows 1 to 4: what needs Redis is 503, sessions are served on for a while, all comes back by itself",
                "Row 3: a slow Redis sheds requests; none piles up",
                "Rows 5 and 7: no token is used twice over failovers: primaries killed, cut off and retired",
                "Row 23: no token is used twice over kills of gateways and of Redis",
            ]
        ),
        Advisory(
            id: "T31",
            about: "clocks that differ",
            tests: [
                "T31: whatever the gateways' clocks show, each takes what another made, and for as long",
                "T31: what has run out by Redis's clock is gone, whatever the gateways' clocks show",
                "T31: gateways whose machines' clocks differ by minutes take each other's sessions and tokens",
            ]
        ),
        Advisory(
            id: "T32",
            about: "odd tokens",
            tests: [
                "T32: odd tokens are refused like unknown ones, and never redirect twice to the same URL",
                "C7 #60: that there is a token is no proof: whatever is no session of ours is 401 (T32)",
            ]
        ),
        Advisory(
            id: "T36",
            about: "shared caches keep a user's page",
            tests: [
                "T36: answers that carry identity are private; what the app forbids stays forbidden"
            ]
        ),
    ]
}
