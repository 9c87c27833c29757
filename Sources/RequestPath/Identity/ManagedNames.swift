import Endpoints
import Settings

/// Fields that only the gateway may set: identity, and what proxies say to each other about a request.
///
/// A name includes every spelling that some app could map to it: upper and lower case, and any byte that is not a
/// letter or digit in the place of `-` (CVE-2025-64484, CVE-2026-52845).
package struct ManagedNames: Sendable {
    /// Normalised names (lower case, `-` for every byte that is not a letter or digit) that are removed from every
    /// request.
    package let names: [String]
    /// Normalised prefixes: every name that begins with one is removed, because an app of some preset may believe it.
    package let prefixes: [String]

    /// - Parameter configured: The names of the identity's fields, in any spelling.
    package init(configured: [String]) {
        let own = configured.map(Self.normalized)
        self.names = Set(Self.always + own.filter { $0 != "authorization" }).sorted()
        self.prefixes = Self.alwaysPrefixes
    }

    /// The normalised spelling of a name.
    package static func normalized(_ name: String) -> String {
        FieldChanges.normalized(name)
    }

    /// Names by which a route may tell its app what a proxy says about a request: the client's address, the scheme, the port,
    /// the app's place. The gateway does not send them, except `X-Script-Name` where a prefix is stripped.
    package static let settable = Set(
        Self.facts + ["port", "protocol", "scheme", "server", "ssl"].map { "x-forwarded-\($0)" }
    )

    /// What a proxy says about a request by names of its own: where the app is, by which scheme and port it is reached, and
    /// what address the client has.
    private static let facts = [
        "path-info", "script-name", "x-script-name", "x-vhm-host", "x-vhm-root",
        "cf-visitor", "cloudfront-forwarded-proto", "front-end-https", "https", "wl-proxy-ssl", "x-appengine-https",
        "x-arr-ssl", "x-client-scheme", "x-host", "x-http-host-override", "x-https",
        "x-proxied-https", "x-real-host", "x-real-port", "x-scheme", "x-url-scheme",
        "cf-connecting-ip", "cf-connecting-ipv6", "client-ip", "cloudfront-viewer-address", "do-connecting-ip",
        "fastly-client-ip", "fly-client-ip", "incap-client-ip", "proxy-client-ip", "true-client-ip",
        "wl-proxy-client-ip",
        "x-appengine-remote-addr", "x-appengine-user-ip", "x-azure-clientip", "x-azure-socketip", "x-client-ip",
        "x-cluster-client-ip", "x-envoy-external-address", "x-nf-client-connection-ip", "x-originating-ip",
        "x-proxyuser-ip", "x-real-ip", "x-remote-addr", "x-remote-ip", "x-sucuri-clientip", "x-true-client-ip",
        "x-true-ip", "x-vercel-forwarded-for",
    ]

    /// Names that some framework or proxy believes: those of `facts`, and about the client's certificate (RFC 9440), the path
    /// or who the user is; `Proxy`, which a CGI turns into `HTTP_PROXY` (CVE-2016-5385); and where Rack sends files from
    /// (CVE-2025-61780).
    private static let always =
        Self.facts + [
            UserAddressField.name, "client-cert", "client-cert-chain", "forwarded", "proxy", "proxy-auth-cert",
            "proxy-ssl-id", "ssl-cipher", "ssl-cipher-usekeysize", "ssl-client-cert", "ssl-client-s-dn",
            "ssl-client-verify", "ssl-session-id", "wl-proxy-client-cert", "x-accel-mapping", "x-arr-clientcert",
            "x-client-cert", "x-client-dn", "x-client-verify", "x-envoy-original-path", "x-forwarded", "x-remote-user",
            "x-sendfile-type",
        ]

    /// Prefixes of the gateway, of every preset (so that changing the preset exposes nothing), of forwarding, of a client's
    /// certificate, and of what servers of WSGI are told.
    private static let alwaysPrefixes = [
        "x-auth-", "x-sallyport-", "x-forwarded-", "remote-", "x-kratos-", "x-original-", "x-rewrite-", "x-ssl-",
        "x-wsgi-",
    ]

    /// What apps and frameworks believe, of the names that begin with one of `prefixes`: for proxies that remove fields by
    /// name only.
    package static let believed =
        [
            "access-token", "authorization", "base", "by", "client-cert", "client-ip", "context", "email", "groups",
            "https", "ip", "method", "path", "port", "prefix", "preferred-username", "proto-version", "protocol",
            "scheme", "script-name", "server", "ssl", "ssl-client-cert", "tls-client-cert", "tls-client-cert-info",
            "uri", "url", "url-scheme", "user",
        ].map { "x-forwarded-\($0)" }
        + ["forwarded-for", "host", "method", "path", "port", "proto", "remote-addr", "scheme", "uri", "url"].map {
            "x-original-\($0)"
        }
        + ["path", "uri", "url"].map { "x-rewrite-\($0)" }
        + ["addr", "host", "ident", "ip", "port"].map { "remote-\($0)" }
        + ["id", "name", "role", "roles", "token", "user", "username", "userid"].map { "x-auth-\($0)" }
        + ["cert", "client-cert", "client-dn", "client-s-dn", "client-verify", "subject"].map { "x-ssl-\($0)" }
        + ["path-info", "script-name", "url-scheme"].map { "x-wsgi-\($0)" }
}
