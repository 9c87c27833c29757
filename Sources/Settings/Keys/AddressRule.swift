import AddressIntelligence
import Vocabulary

extension TextRule {
    static let listenAddress = TextRule(
        "address",
        allowed: "an IP address and a port: \"127.0.0.1:8080\", \"[::1]:8080\", or \":8080\" for every address",
        pattern: "^(\\[[0-9A-Fa-f:.%a-z]+\\]|[0-9.]*):[0-9]{1,5}$"
    ) { text throws(SyntaxFault) in
        guard let colon = text.lastIndex(of: ":") else {
            guard Self.port(text[...]) == nil else {
                throw SyntaxFault(
                    "write \":\(text)\" for every address, or \"127.0.0.1:\(text)\" for this machine only"
                )
            }
            throw SyntaxFault("add the port: \":8080\"")
        }
        guard let port = Self.port(text[text.index(after: colon)...]) else {
            throw SyntaxFault("end with a port from 0 to 65535, e.g. \"127.0.0.1:8080\"")
        }
        let host = text[..<colon]
        if host.isEmpty { return .address(ListenAddress(host: "", port: port)) }
        if host.first == "[", host.last == "]", host.utf8.contains(UInt8(ascii: ":")),
            IPAddress(String(host.dropFirst().dropLast())) != nil
        {
            return .address(ListenAddress(host: String(host.dropFirst().dropLast()), port: port))
        }
        guard !host.utf8.contains(UInt8(ascii: ":")) else {
            throw SyntaxFault("put the IPv6 address in brackets: \"[::1]:8080\"")
        }
        guard IPAddress(String(host)) != nil else {
            throw SyntaxFault(
                "write an IP address instead of a name, or only the port (\":8080\") to listen on every address"
            )
        }
        return .address(ListenAddress(host: String(host), port: port))
    }

    /// An address, or a block of addresses in CIDR notation.
    static let addressBlock = TextRule(
        "CIDR",
        allowed: "an address or a block of addresses such as 10.0.0.0/8 or 2001:db8::/32",
        pattern: "^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$"
    ) { text throws(SyntaxFault) in
        guard let block = CIDRBlock(text) else {
            throw SyntaxFault("check the address and the length; all bits after the length must be 0")
        }
        return .block(block)
    }

    /// The URL at which clients reach a host.
    static let publicURL = TextRule(
        "URL",
        allowed: "scheme, host and port, e.g. https://app.example.com",
        pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+/?$"
    ) { text throws(SyntaxFault) in
        guard !text.utf8.contains(UInt8(ascii: "*")) else {
            throw SyntaxFault("write one name; only the public_url of an element of hosts may have a wildcard")
        }
        return .url(try Self.origin(text))
    }

    /// The URL at which clients reach a host, or the hosts of a wildcard.
    static let hostURL = TextRule(
        "URL",
        allowed: "scheme, host and port, e.g. https://app.example.com, or \"https://*.example.com\" for many names",
        pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+/?$"
    ) { text throws(SyntaxFault) in
        let parts = text.split(separator: "://*.", maxSplits: 1, omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.utf8.contains(UInt8(ascii: "*")) }) else {
            throw SyntaxFault("write * as the whole first label only: \"https://*.example.com\"")
        }
        guard parts.count == 2 else { return .url(try Self.origin(text)) }
        var url = try Self.origin("\(parts[0])://\(parts[1])")
        url.host = "*." + url.host
        guard IPAddress(String(url.host.dropFirst(2))) == nil, !url.host.hasSuffix("]"),
            url.host.utf8.count < HostLabel.longestName
        else { throw SyntaxFault("write a domain after the wildcard: \"https://*.example.com\"") }
        return .url(url)
    }

    /// An origin as browsers send it (RFC 6454).
    static let webOrigin = TextRule(
        "origin",
        allowed: "an origin such as https://app.example.com",
        pattern: "^https?://[^/?#@]+$"
    ) { text throws(SyntaxFault) in
        .text(try Self.origin(text).description)
    }

    /// An origin as browsers send it, or `*` for any origin.
    static let webOriginOrAny = TextRule(
        "origin or *",
        allowed: "an origin such as https://app.example.com, or \"*\"",
        pattern: "^(\\*|https?://[^/?#@]+)$"
    ) { text throws(SyntaxFault) in
        text == "*" ? .text(text) : .text(try Self.origin(text).description)
    }

    static let upstreamURL = TextRule(
        "URL",
        allowed: "http://host:port or https://host:port",
        pattern: "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+/?$"
    ) { text throws(SyntaxFault) in
        .url(try Self.origin(text))
    }

    /// The address of an app's server.
    static let serverURL = TextRule(
        "URL",
        allowed: "http://host:port, https://host:port, or unix:/path of a socket",
        pattern: "^([Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+/?|[Uu][Nn][Ii][Xx]:/[!-~]+)$"
    ) { text throws(SyntaxFault) in
        try Self.server(text)
    }

    /// An app, given by its name under `upstreams` or by its URL.
    static let upstream = TextRule(
        "name or URL",
        allowed: "a name from upstreams, or http://host:port, https://host:port or unix:/path of a socket",
        pattern: "^([A-Za-z0-9._~-]{1,128}|[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+/?|[Uu][Nn][Ii][Xx]:/[!-~]+)$"
    ) { text throws(SyntaxFault) in
        if text.utf8.contains(UInt8(ascii: ":")) || text.utf8.contains(UInt8(ascii: "/")) {
            return try Self.server(text)
        }
        return try TextRule.clientID.read(text)
    }

    /// The `Host` that an app gets: a fixed name, or `client` for the host and port of `public_url`.
    static let hostHeader = TextRule(
        "client | host[:port]",
        allowed: "client, or a host with or without a port",
        pattern: "^[^/?#@ ]+$"
    ) { text throws(SyntaxFault) in
        if text == "client" { return .text(text) }
        do { return try TextRule.authority.read(text) } catch { throw SyntaxFault("write client or app.internal:8080") }
    }

    /// The `Host` of the gateway's own requests, such as health checks.
    static let authority = TextRule(
        "host[:port]",
        allowed: "a host with or without a port",
        pattern: "^[^/?#@ ]+$"
    ) { text throws(SyntaxFault) in
        guard text.lowercased() != "client" else {
            throw SyntaxFault("write the name itself, such as app.example.com: the gateway sends it without a client")
        }
        guard let (host, port) = Self.authority(text) else {
            throw SyntaxFault("write app.example.com or app.internal:8080")
        }
        return .text(port.map { "\(host):\($0)" } ?? host)
    }

    /// A server name for TLS. It cannot be an address (RFC 6066 3).
    static let serverName = TextRule(
        "name",
        allowed: "a host name such as app.internal",
        pattern: "^[A-Za-z0-9._-]{1,253}$"
    ) { text throws(SyntaxFault) in
        guard IPAddress(text) == nil, let host = Self.host(text[...]) else {
            throw SyntaxFault("write the name in the app's certificate")
        }
        return .text(host)
    }
}

extension ListenAddress {
    /// Reads an address in the form of the key `listen`, e.g. `127.0.0.1:8080`; `nil` for other texts.
    package init?(_ text: String) {
        guard case .address(let address)? = try? TextRule.listenAddress.read(text) else { return nil }
        self = address
    }
}

extension TextRule {
    /// The scheme of a Unix domain socket.
    static let socketScheme = "unix:"
    /// The maximum length of a socket's path. Linux allows 108 bytes, including the final NUL.
    private static let longestSocketPath = 107
    /// The beginnings of socket addresses in the syntax of other products.
    private static let foreignSockets = ["http+unix:", "http://unix:", "unix//", "unix@"]

    /// Reads the address of a server: a URL, or `unix:` and a path. A socket is returned as a text.
    private static func server(_ text: String) throws(SyntaxFault) -> SettingValue {
        let lowercased = text.lowercased()
        guard !Self.foreignSockets.contains(where: { lowercased.hasPrefix($0) }) else {
            throw SyntaxFault("write a socket as unix:/run/app.sock")
        }
        guard lowercased.hasPrefix(Self.socketScheme) else { return .url(try Self.origin(text)) }
        var path = text.dropFirst(Self.socketScheme.count)
        // `unix:///path` has an empty host before the path (RFC 3986 3.2.2).
        if path.hasPrefix("///") { path = path.dropFirst(2) }
        guard path.hasPrefix("/"), !path.hasPrefix("//"), !path.hasSuffix("/") else {
            throw SyntaxFault("write the whole path of the socket, as in unix:/run/app.sock")
        }
        guard path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyntaxFault("give the socket a path of visible ASCII characters without spaces")
        }
        guard path.utf8.count <= Self.longestSocketPath else {
            throw SyntaxFault(
                "give the socket a shorter path: this one has \(path.utf8.count) bytes, and at most \(Self.longestSocketPath) are allowed"
            )
        }
        return .text("\(Self.socketScheme)\(path)")
    }

    /// Reads an absolute URL without a path, except for a single `/`.
    fileprivate static func origin(_ text: String) throws(SyntaxFault) -> PublicURL {
        guard let separator = text.utf8.firstRange(of: "://".utf8) else {
            throw SyntaxFault("begin with https:// or http://")
        }
        let scheme = text[..<separator.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { throw SyntaxFault("begin with https:// or http://") }
        var rest = text[separator.upperBound...]
        if rest.last == "/" { rest = rest.dropLast() }
        guard !rest.utf8.contains(UInt8(ascii: "@")) else {
            throw SyntaxFault("leave out the user and password: they must not be part of this URL")
        }
        guard !rest.contains(where: { $0 == "/" || $0 == "?" || $0 == "#" }) else {
            throw SyntaxFault("remove the path, the query and the fragment")
        }
        guard let (host, port) = Self.authority(String(rest)) else {
            throw SyntaxFault("write a host name in ASCII or an address (IPv6 in brackets), and a port from 1 to 65535")
        }
        let isHTTPS = scheme == "https"
        return PublicURL(isHTTPS: isHTTPS, host: host, port: port == (isHTTPS ? 443 : 80) ? nil : port)
    }

    /// Reads `host[:port]`. The host is returned in lower case and without a trailing dot.
    static func authority(_ text: String) -> (host: String, port: Int?)? {
        if text.first == "[" {
            guard let bracket = text.lastIndex(of: "]") else { return nil }
            let inner = text[text.index(after: text.startIndex)..<bracket]
            guard inner.utf8.contains(UInt8(ascii: ":")), !inner.utf8.contains(UInt8(ascii: "%")),
                let address = IPAddress(String(inner))
            else { return nil }
            let rest = text[text.index(after: bracket)...]
            let host = address.isV4 ? "\(address)" : "[\(address)]"
            if rest.isEmpty { return (host, nil) }
            guard rest.first == ":", let port = Self.port(rest.dropFirst()), port > 0 else { return nil }
            return (host, port)
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = Self.host(parts[0]) else { return nil }
        guard parts.count == 2 else { return (host, nil) }
        guard let port = Self.port(parts[1]), port > 0 else { return nil }
        return (host, port)
    }

    /// Reads a name of letters, digits, `-`, `_` and dots, or an IPv4 address.
    static func host(_ text: Substring) -> String? {
        var host = text.lowercased()
        if host.hasSuffix(".") { host.removeLast() }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...253).contains(host.utf8.count),
            labels.allSatisfy({ label in
                (1...63).contains(label.utf8.count)
                    && label.utf8.allSatisfy { $0.isAlphanumeric || $0 == 0x2D || $0 == 0x5F }
                    && label.first != "-" && label.last != "-"
            })
        else { return nil }
        // Browsers read a host whose last label is a number as an address, such as `0x7f.1` or `127.1` (WHATWG URL).
        guard let last = labels.last else { return nil }
        let isNumeric = last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.hasPrefix("0x")
        return isNumeric && IPAddress(host) == nil ? nil : host
    }

    /// Reads a port from 0 to 65535 in decimal digits.
    private static func port(_ text: Substring) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(text), port <= 65535
        else { return nil }
        return port
    }
}

extension PublicURL {
    /// Reads the URL of one host as `public_url` is read: lower case, no default port. `nil` for other texts.
    package init?(_ text: String) {
        guard !text.utf8.contains(UInt8(ascii: "*")), let url = try? TextRule.origin(text) else { return nil }
        self = url
    }
}
