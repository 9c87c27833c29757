import Settings

/// The names in requests that are the gateway's own: its cookies, and the parameter of transfer tokens.
package final class OwnNames: Sendable {
    package let parameter: HandoffParameter
    private let secureCookies: OwnCookies
    private let plainCookies: OwnCookies

    /// - Parameters:
    ///   - secureCookies: The cookies of https hosts.
    ///   - plainCookies: Those of plain-http hosts, which cannot have the `__Host-` prefix. A host accepts its own names
    ///     only: on https a sibling domain could plant a plain name (RFC 6265bis 4.1.3).
    init(parameter: HandoffParameter, secureCookies: OwnCookies, plainCookies: OwnCookies) {
        self.parameter = parameter
        self.secureCookies = secureCookies
        self.plainCookies = plainCookies
    }

    /// The gateway's own cookies on a host.
    package func cookies(of host: HostEntry) -> OwnCookies {
        host.publicURL.isHTTPS ? self.secureCookies : self.plainCookies
    }
}
