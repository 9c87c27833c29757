/// The label that a name has in the place of the `*` of a host with a wildcard.
package enum HostLabel {
    /// The longest label, and the longest name (RFC 1035 2.3.4, without the dot at its end).
    private static let longest = 63
    package static let longestName = 253

    /// Whether a label is one that the gateway calls itself by: lower-case letters, digits and inner hyphens (RFC 1123
    /// 2.1). Labels with `--` in the third and fourth place are reserved (RFC 5890 2.3.1): what users see of `xn--...` may
    /// look like another name, so such a host is served only if it is written out.
    package static func isFit(_ label: UnsafeBufferPointer<UInt8>) -> Bool {
        let hyphen = UInt8(ascii: "-")
        guard (1...Self.longest).contains(label.count), label.first != hyphen, label.last != hyphen else {
            return false
        }
        for byte in label where !(byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte == hyphen) { return false }
        return label.count < 4 || label[2] != hyphen || label[3] != hyphen
    }

    /// The same for a text.
    package static func isFit(_ label: String) -> Bool {
        var label = label
        return label.withUTF8 { Self.isFit($0) }
    }
}

extension PublicURL {
    /// Whether it stands for every name with one label in the place of its `*`, as `https://*.example.com` does.
    package var isWildcard: Bool { self.host.utf8.starts(with: "*.".utf8) }

    /// The URL of the name with this label; nil where it is no wildcard, or the label does not fit (`HostLabel`).
    package func named(_ label: String) -> PublicURL? {
        guard self.isWildcard, HostLabel.isFit(label) else { return nil }
        let host = label + self.host.dropFirst()
        return host.utf8.count <= HostLabel.longestName
            ? PublicURL(isHTTPS: self.isHTTPS, host: host, port: self.port) : nil
    }

    /// Whether it is a wildcard with one label in the place of its `*`, whatever the label, for this name.
    package func hasName(_ name: String) -> Bool {
        guard self.isWildcard, let dot = name.firstIndex(of: "."), dot != name.startIndex else { return false }
        return name != self.host && name[dot...] == self.host.dropFirst()
    }

    /// The URL of the name that is `authority` to the letter; nil where it is no wildcard, or does not stand for it.
    package func named(by authority: String) -> PublicURL? {
        let rest = self.authority.utf8.dropFirst()
        let label = authority.utf8.dropLast(rest.count)
        guard self.isWildcard, authority.utf8.dropFirst(label.count).elementsEqual(rest) else { return nil }
        return self.named(String(Substring(label)))
    }
}

extension HostSettings {
    /// The URL of the name that is `authority` to the letter; nil where the host is no wildcard, or does not stand for it.
    package func named(by authority: String) -> PublicURL? {
        guard let url = self.publicURL.named(by: authority), !self.reservedNames.contains(url.host) else { return nil }
        return url
    }
}

/// The origins of hosts, those of all names of a wildcard among them.
package struct ServedOrigins: Sendable {
    private let exact: Set<String>
    private let wildcards: [HostSettings]

    package init(_ hosts: [HostSettings]) {
        self.exact = Set(hosts.lazy.map(\.publicURL).filter { !$0.isWildcard }.map(\.description))
        self.wildcards = hosts.filter(\.publicURL.isWildcard)
    }

    /// Whether `origin` is one of them, as `PublicURL.description` writes it.
    package func contains(_ origin: String) -> Bool {
        self.exact.contains(origin)
            || self.wildcards.contains { host in
                let scheme = "\(host.publicURL.scheme)://"
                return origin.hasPrefix(scheme) && host.named(by: String(origin.dropFirst(scheme.count))) != nil
            }
    }

    /// The one with which `url` begins, before its path; nil: it begins with none of them.
    package func origin(of url: String) -> String? {
        guard let scheme = url.utf8.firstRange(of: "://".utf8),
            let end = url.utf8[scheme.upperBound...].firstIndex(of: UInt8(ascii: "/"))
        else { return nil }
        let origin = String(url[..<end])
        return self.contains(origin) ? origin : nil
    }
}
