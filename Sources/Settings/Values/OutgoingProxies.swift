import AddressIntelligence
package import Vocabulary

/// An HTTP proxy for the gateway's own calls (RFC 9110 9.3.6 and 3.7).
package struct OutgoingProxy: Sendable, Equatable {
    /// The host in lower case; an IPv6 address without brackets.
    package let host: String
    package let port: Int
    /// `user:password` (RFC 7617); `nil` if the proxy needs no credentials.
    package let credentials: Secret?
    /// The variable or key that names the proxy.
    package let origin: String

    /// - Parameter text: `http://user:password@host:port`; scheme, user, password and port may be left out.
    /// - Throws: Advice without any part of the text, because the text may contain a password.
    init(_ text: String, origin: String) throws(SyntaxFault) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw SyntaxFault("write it on one line without spaces; percent-encode other characters than visible ASCII")
        }
        var rest = text[...]
        if let mark = text.utf8.firstRange(of: "://".utf8) {
            guard text[..<mark.lowerBound].lowercased() == "http" else {
                throw SyntaxFault(
                    "write http://user:password@host:port: no TLS is spoken to the proxy itself, and no SOCKS"
                )
            }
            rest = text[mark.upperBound...]
        }
        if rest.last == "/" { rest.removeLast() }
        var credentials: [UInt8]?
        if let at = rest.lastIndex(of: "@") {
            let user = rest[..<at]
            guard let decoded = PercentCoding.decoded(Array(user.utf8), plusIsSpace: false),
                decoded.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { throw SyntaxFault("percent-encode user and password, without control characters") }
            credentials = user.utf8.contains(UInt8(ascii: ":")) ? decoded : decoded + [UInt8(ascii: ":")]
            rest = rest[rest.index(after: at)...]
        }
        guard let (host, port) = TextRule.authority(String(rest)) else {
            throw SyntaxFault("write http://user:password@host:port, with a host name in ASCII or an address")
        }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        self.port = port ?? 80
        self.credentials = credentials.map { Secret($0) }
        self.origin = origin
    }

    /// The host and port of the proxy for messages, without its password.
    package var name: String {
        self.host.utf8.contains(UInt8(ascii: ":")) ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
    }
}

/// The proxies for calls to providers and to the collector of traces.
///
/// ## Variables of the environment, as curl reads them
/// - `https_proxy` or `HTTPS_PROXY`, otherwise `all_proxy` or `ALL_PROXY`: for https.
/// - `http_proxy`, otherwise `all_proxy` or `ALL_PROXY`: for http. `HTTP_PROXY` is not read, because in some
///   environments a client can set it (CVE-2016-5385).
/// - `no_proxy` or `NO_PROXY`: servers that are called directly (`ProxyException`).
package struct OutgoingProxies: Sendable, Equatable {
    /// The proxy for https; `nil` for direct calls.
    package var secure: OutgoingProxy?
    /// The proxy for http; `nil` for direct calls.
    package var plain: OutgoingProxy?
    package var exceptions: [ProxyException] = []
    /// Whether the proxy is used for loopback. True for a proxy in the settings, false for a proxy in the environment.
    package var servesLoopback = false

    package init() {}

    /// Returns the proxy for a server; `nil` if the server is called directly.
    ///
    /// - Parameter host: The host in lower case; an IPv6 address without brackets.
    package func proxy(forHost host: String, port: Int, isHTTPS: Bool) -> OutgoingProxy? {
        guard let proxy = isHTTPS ? self.secure : self.plain else { return nil }
        let name = host.last == "." ? String(host.dropLast()) : host
        let address = IPAddress(name)
        let isLoopback = name == "localhost" || name.hasSuffix(".localhost") || address?.isLoopback == true
        guard self.servesLoopback || !isLoopback else { return nil }
        return self.exceptions.contains { $0.covers(name, address, port) } ? nil : proxy
    }
}

/// Servers that are called without a proxy: an element of `no_proxy`.
package struct ProxyException: Sendable, Equatable {
    private enum Target: Sendable, Equatable {
        case all
        /// A host and its subdomains.
        case name(String)
        case block(CIDRBlock)
    }

    private let target: Target
    /// The port; `nil` for every port.
    private let port: Int?

    /// Reads `*`, a host (`example.com`, `.example.com` or `*.example.com`), an address or a block, all but `*`
    /// optionally with `:port`. `nil` if the port is invalid or the host is empty.
    package init?(_ text: String) {
        if text == "*" {
            (self.target, self.port) = (.all, nil)
        } else if let block = Self.block(text[...]) {
            (self.target, self.port) = (.block(block), nil)
        } else {
            var (host, port) = (text[...], Int?.none)
            if let colon = text.lastIndex(of: ":"), text.last != "]" {
                guard let number = UInt16(text[text.index(after: colon)...]) else { return nil }
                (host, port) = (text[..<colon], Int(number))
            }
            if let block = Self.block(host) {
                (self.target, self.port) = (.block(block), port)
            } else {
                if host.hasPrefix("*.") { host = host.dropFirst() }
                if host.first == "." { host = host.dropFirst() }
                if host.last == "." { host = host.dropLast() }
                guard !host.isEmpty else { return nil }
                (self.target, self.port) = (.name(host.lowercased()), port)
            }
        }
    }

    /// Reads the elements of `no_proxy`, separated by commas or white space. Invalid elements are ignored.
    package static func all(in text: String) -> [ProxyException] {
        text.split { $0 == "," || $0.isWhitespace }.compactMap { ProxyException(String($0)) }
    }

    func covers(_ name: String, _ address: IPAddress?, _ port: Int) -> Bool {
        guard self.port ?? port == port else { return false }
        switch self.target {
        case .all: return true
        case .name(let own): return name == own || (address == nil && name.hasSuffix("." + own))
        case .block(let block): return address.map(block.contains) ?? false
        }
    }

    /// Reads an address or a block. Bits after the prefix length are ignored.
    private static func block(_ text: Substring) -> CIDRBlock? {
        let text = text.first == "[" && text.last == "]" ? text.dropFirst().dropLast() : text
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = IPAddress(String(parts[0])) else { return nil }
        let most = address.isV4 ? 32 : 128
        guard let length = parts.count == 2 ? UInt8(parts[1]).map(Int.init) : most, length <= most else { return nil }
        return CIDRBlock(of: address, v4: length, v6: length)
    }
}
