import Settings

/// The gateway's own names in requests: its cookies and the parameter for transfer tokens.
package final class OwnNames: Sendable {
    package let parameter: HandoffParameter
    private let secureCookies: OwnCookies
    private let plainCookies: OwnCookies

    /// - Parameters:
    ///   - secureCookies: The cookies of https hosts.
    ///   - plainCookies: The cookies of plain-http hosts. They cannot have the `__Host-` prefix. An https host ignores
    ///     these names, because a sibling domain could set a cookie with such a name (RFC 6265bis 4.1.3).
    init(parameter: HandoffParameter, secureCookies: OwnCookies, plainCookies: OwnCookies) {
        self.parameter = parameter
        self.secureCookies = secureCookies
        self.plainCookies = plainCookies
    }

    /// Returns the gateway's own cookies on a host.
    package func cookies(of host: HostEntry) -> OwnCookies {
        host.publicURL.isHTTPS ? self.secureCookies : self.plainCookies
    }
}
