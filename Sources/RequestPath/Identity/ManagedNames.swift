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

    /// Names that some framework or proxy believes about the client, its certificate (RFC 9440), the host, the path or the
    /// method; and `Proxy`, which a CGI turns into `HTTP_PROXY` (CVE-2016-5385).
    private static let always = [
        UserAddressField.name, "cf-connecting-ip", "cf-connecting-ipv6", "client-cert", "client-cert-chain",
        "client-ip",
        "fastly-client-ip", "forwarded", "proxy", "proxy-client-ip", "true-client-ip", "wl-proxy-client-ip",
        "x-client-ip", "x-cluster-client-ip",
        "x-envoy-external-address", "x-envoy-original-path", "x-forwarded", "x-host", "x-http-host-override",
        "x-proxyuser-ip", "x-real-ip", "x-remote-addr", "x-remote-ip", "x-remote-user",
    ]

    /// Prefixes of the gateway, of every preset (so that changing the preset exposes nothing) and of forwarding.
    private static let alwaysPrefixes = [
        "x-auth-", "x-sallyport-", "x-forwarded-", "remote-", "x-kratos-", "x-original-", "x-rewrite-",
    ]
}
