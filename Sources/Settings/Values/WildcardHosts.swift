/// The label of a name that replaces the `*` of a wildcard host.
package enum HostLabel {
    /// The maximum number of bytes of a label (RFC 1035 2.3.4).
    private static let longest = 63
    /// The maximum number of bytes of a name without its final dot (RFC 1035 2.3.4).
    package static let longestName = 253

    /// Whether a label may replace a `*`: lower-case letters, digits and inner hyphens (RFC 1123 2.1). Reserved labels
    /// such as `xn--...` (RFC 5890 2.3.1) may not, because they can be displayed like another name.
    package static func isFit(_ label: UnsafeBufferPointer<UInt8>) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard (1...Self.longest).contains(label.count), label.first != hyphen, label.last != hyphen else {
            return false
        }
        for byte in label where !(byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte == hyphen) { return false }
        return label.count < 4 || label[2] != hyphen || label[3] != hyphen
    }

    /// Whether a text is a label that may replace a `*`.
    package static func isFit(_ label: String) -> Bool {
        var label = label
        return label.withUTF8 { Self.isFit($0) }
    }
}

extension PublicURL {
    /// Whether the URL is a wildcard, such as `https://*.example.com`, for all names with one label instead of its `*`.
    package var isWildcard: Bool { self.host.utf8.starts(with: "*.".utf8) }

    /// Returns the URL with `label` instead of `*`; `nil` if the URL is no wildcard or the label does not fit.
    package func named(_ label: String) -> PublicURL? {
        guard self.isWildcard, HostLabel.isFit(label) else { return nil }
        let host = label + self.host.dropFirst()
        return host.utf8.count <= HostLabel.longestName
            ? PublicURL(isHTTPS: self.isHTTPS, host: host, port: self.port) : nil
    }

    /// Whether the URL is a wildcard and `name` has one label of any form instead of its `*`.
    package func hasName(_ name: String) -> Bool {
        guard self.isWildcard, let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
        return name != self.host && name[dot...] == self.host.dropFirst()
    }

    /// Returns the URL of `authority`; `nil` if this URL is not a wildcard that covers it.
    package func named(by authority: String) -> PublicURL? {
        let rest = self.authority.utf8.dropFirst()
        let label = authority.utf8.dropLast(rest.count)
        guard self.isWildcard, authority.utf8.dropFirst(label.count).elementsEqual(rest) else { return nil }
        return self.named(String(Substring(label)))
    }
}

extension HostSettings {
    /// Returns the URL of `authority`; `nil` if the host is not a wildcard that covers it.
    package func named(by authority: String) -> PublicURL? {
        guard let url = self.publicURL.named(by: authority), !self.reservedNames.contains(url.host) else { return nil }
        return url
    }
}

/// The origins of hosts, including all names of wildcards.
package struct ServedOrigins: Sendable {
    private let exact: Set<String>
    private let wildcards: [HostSettings]

    package init(_ hosts: [HostSettings]) {
        self.exact = Set(hosts.lazy.map(\.publicURL).filter { !$0.isWildcard }.map(\.description))
        self.wildcards = hosts.filter(\.publicURL.isWildcard)
    }

    /// Whether a host has this origin, written as in `PublicURL.description`.
    package func contains(_ origin: String) -> Bool {
        self.exact.contains(origin)
            || self.wildcards.contains { host in
                let scheme = "\(host.publicURL.scheme)://"
                return origin.hasPrefix(scheme) && host.named(by: String(origin.dropFirst(scheme.count))) != nil
            }
    }

    /// Returns the origin of `url`; `nil` if `url` has no path, or if no host has that origin.
    package func origin(of url: String) -> String? {
        guard let scheme = url.utf8.firstRange(of: "://".utf8),
            let end = url.utf8[scheme.upperBound...].firstIndex(of: UInt8(ascii: "/"))
        else { return nil }
        let origin = String(url[..<end])
        return self.contains(origin) ? origin : nil
    }
}
