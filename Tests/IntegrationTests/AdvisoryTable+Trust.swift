/// Trust in a peer that has not earned it.
extension Advisory {
    /// Forwarding fields, control fields and the PROXY protocol.
    static let trust = [
        Advisory(
            id: "CVE-2024-23327",
            about: "Envoy: a PROXY header with the command LOCAL crashes it",
            tests: [
                "CVE-2024-23327: LOCAL means the peer, in every family, and what follows it is skipped"
            ]
        ),
        Advisory(
            id: "CVE-2024-23325",
            about: "Envoy: a PROXY header with an address type that it does not support crashes it",
            tests: [
                "CVE-2024-23325: other versions, commands, families and protocols are malformed, as soon as they are seen"
            ]
        ),
        Advisory(
            id: "CVE-2024-23324",
            about: "Envoy: bytes of a PROXY header that are not UTF-8 let requests past the authorization",
            tests: [
                "CVE-2024-23324: what a header says is escaped in the log, and names the requests if it can"
            ]
        ),
        Advisory(
            id: "CVE-2026-40575",
            about: "oauth2-proxy: any client's X-Forwarded-Uri is believed",
            tests: [
                "CVE-2026-40575, CVE-2026-35051, CVE-2026-54764: an untrusted client's forwarding fields are replaced",
                "CVE-2026-40575, CVE-2026-33495: a direct client's X-Forwarded-Uri and -Proto never reach the app",
            ]
        ),
        Advisory(
            id: "CVE-2026-33495",
            about: "Oathkeeper: any client's X-Forwarded-Proto is believed",
            tests: [
                "CVE-2026-33495: URLs that the gateway makes have the public URL's scheme, whatever a client or proxy claims"
            ]
        ),
        Advisory(
            id: "CVE-2026-35051",
            about: "Traefik: any client's X-Forwarded-Prefix reaches the app",
            tests: [
                "CVE-2026-40575, CVE-2026-35051, CVE-2026-54764: an untrusted client's forwarding fields are replaced"
            ]
        ),
        Advisory(
            id: "CVE-2026-54764",
            about: "Traefik: any client's X-Forwarded-Port reaches the app",
            tests: [
                "CVE-2026-40575, CVE-2026-35051, CVE-2026-54764: an untrusted client's forwarding fields are replaced"
            ]
        ),
        Advisory(
            id: "oauth2-proxy PR #3478",
            about: "oauth2-proxy: the left-most address of X-Forwarded-For counts, which the client writes",
            tests: [
                "T14: X-Forwarded-For is used only from trusted proxies, from the right, and the app gets one address",
                "oauth2-proxy PR #3478: the right-most untrusted hop counts, whatever a client wrote before it",
            ]
        ),
        Advisory(
            id: "GHSA-7jmw-8259-q9jx",
            about: "Traefik: an IPv4-mapped address is another address than its IPv4 form",
            tests: [
                "GHSA-7jmw-8259-q9jx: a mapped address is trusted like its IPv4 address"
            ]
        ),
        Advisory(
            id: "CVE-2023-27487",
            about: "Envoy: a client sets the proxy's own control fields",
            tests: [
                "CVE-2023-27487: a client's control fields of a proxy or of the gateway are stripped"
            ]
        ),
        Advisory(
            id: "CVE-2025-23419",
            about:
                "nginx: a session of TLS that began on one virtual server was resumed on another one, past its client certificates.",
            tests: [
                "CVE-2025-23419, CVE-2025-23048: client certificates are the listener's, and a resumed session does not outlive its authority"
            ]
        ),
        Advisory(
            id: "CVE-2025-23048",
            about: "Apache httpd: the same with trusted certificates of several virtual hosts (TLS 1.3).",
            tests: [
                "CVE-2025-23419, CVE-2025-23048: client certificates are the listener's, and a resumed session does not outlive its authority"
            ]
        ),
        Advisory(
            id: "CVE-2024-39321",
            about: "Traefik: requests in early data of HTTP/3 went past the list of allowed addresses.",
            tests: [
                "an upload arrives whole, and a session that is resumed is marked and takes no early data",
                "RFC 8470: a request that may be a replay is asked for again where a replay would do harm, whoever says so",
            ]
        ),
        Advisory(
            id: "CVE-2021-3712",
            about: "OpenSSL: names of certificates with zero bytes were read beyond their end, or cut.",
            reason: "Names are read with their length, and one with other characters than visible ASCII is none."
        ),
        Advisory(
            id: "CVE-2026-34457",
            about: "oauth2-proxy: a health checker's User-Agent opens every path",
            tests: [
                "CVE-2026-34457: a health checker's User-Agent opens nothing"
            ]
        ),
        Advisory(
            id: "P32",
            about: "a configuration that trusts the forwarding fields of every address is accepted",
            tests: [
                "P32: settings that trust every address are refused at the start"
            ]
        ),
        Advisory(
            id: "P33",
            about: "a PROXY protocol line is believed from any client",
            tests: [
                "P33: a PROXY protocol line is not accepted as part of a request"
            ]
        ),
    ]
}
