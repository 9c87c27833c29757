import Endpoints
import Settings

/// The fields that only the gateway may set: identity fields, and proxies' facts about a request.
///
/// Names are compared in normalised form, because apps may treat other spellings as the same name (CVE-2025-64484,
/// CVE-2026-52845).
package struct ManagedNames: Sendable {
    /// The normalised names that are removed from every request.
    package let names: [String]
    /// The normalised prefixes of names that are also removed from every request.
    package let prefixes: [String]

    /// - Parameter configured: The names of the configured identity fields, in any spelling.
    package init(configured: [String]) {
        let own = configured.map(Self.normalized)
        self.names = Set(Self.always + own.filter { $0 != "authorization" }).sorted()
        self.prefixes = Self.alwaysPrefixes
    }

    /// Returns the name in lower case, with `-` instead of every byte other than a letter or digit.
    package static func normalized(_ name: String) -> String {
        FieldChanges.normalized(name)
    }

    /// The managed names that a route may set. They are facts about a request: the client's address, the scheme, the
    /// port, the app's base path.
    package static let settable = Set(
        Self.facts + ["port", "protocol", "scheme", "server", "ssl"].map { "x-forwarded-\($0)" }
    )

    /// Names that individual proxies use for facts about a request: the app's base path, the scheme and port of the
    /// request's URL, and the client's address.
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

    /// The names that are always managed: `facts`, and names about the client's certificate (RFC 9440), the path or the
    /// user. CGI turns `Proxy` into `HTTP_PROXY` (CVE-2016-5385). With `X-Sendfile-Type` and `X-Accel-Mapping`, Rack
    /// lets a proxy send files (CVE-2025-61780).
    private static let always =
        Self.facts + [
            UserAddressField.name, "client-cert", "client-cert-chain", "forwarded", "proxy", "proxy-auth-cert",
            "proxy-ssl-id", "ssl-cipher", "ssl-cipher-usekeysize", "ssl-client-cert", "ssl-client-s-dn",
            "ssl-client-verify", "ssl-session-id", "wl-proxy-client-cert", "x-accel-mapping", "x-arr-clientcert",
            "x-client-cert", "x-client-dn", "x-client-verify", "x-envoy-original-path", "x-forwarded", "x-remote-user",
            "x-sendfile-type",
        ]

    /// The prefixes that are always managed. They also protect the fields of a former preset, except `X-User-Id` and
    /// `X-User-Email` (`kratos`), which other apps expect from their clients (for example Rails apps with Tiddle).
    private static let alwaysPrefixes = [
        "x-auth-", "x-sallyport-", "x-forwarded-", "remote-", "x-kratos-", "x-original-", "x-rewrite-", "x-ssl-",
        "x-wsgi-",
    ]

    /// Well-known names under the `prefixes`. Printed proxy configurations list them, because some proxies cannot
    /// remove fields by prefix.
    package static let wellKnown =
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
