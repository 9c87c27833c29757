import Settings

/// The gateway's names in requests: its cookies and the query parameter for transfer tokens.
package final class OwnNames: Sendable {
    package let parameter: HandoffParameter
    private let secureCookies: OwnCookies
    private let plainCookies: OwnCookies

    /// - Parameters:
    ///   - secureCookies: The cookies of https hosts.
    ///   - plainCookies: The cookies of http hosts, without the `__Host-` prefix. https hosts ignore these names,
    ///     because a sibling domain could set the cookies (RFC 6265bis 4.1.3).
    init(parameter: HandoffParameter, secureCookies: OwnCookies, plainCookies: OwnCookies) {
        self.parameter = parameter
        self.secureCookies = secureCookies
        self.plainCookies = plainCookies
    }

    /// Returns the names of the gateway's cookies on a host.
    package func cookies(of host: HostEntry) -> OwnCookies {
        host.publicURL.isHTTPS ? self.secureCookies : self.plainCookies
    }
}
