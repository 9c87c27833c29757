import AddressIntelligence
import Vocabulary

/// The URL of a provider's endpoint: https, or http on loopback or with `allowsPlainHTTP`.
///
/// Only URLs that all parsers read alike are accepted: visible ASCII, no user, no fragment (RFC 6749 3.1 and 3.2), no
/// escapes in the host.
package struct EndpointURL: Sendable, Hashable, CustomStringConvertible {
    /// The maximum length in bytes.
    private static let longest = 2048

    /// The URL as given.
    package let text: String
    package let isHTTPS: Bool
    /// The host in lower case. IPv6 addresses are in brackets.
    package let host: String
    /// The port; `nil` for the scheme's default port.
    package let port: Int?

    /// - Parameter allowsPlainHTTP: True to accept http for all hosts, e.g. for Kratos in a private network.
    /// - Throws: `EndpointURLError`. Its text does not contain the URL.
    package init(_ text: String, allowsPlainHTTP: Bool = false) throws(EndpointURLError) {
        guard (1...Self.longest).contains(text.utf8.count) else {
            throw EndpointURLError(description: "it is empty or longer than \(Self.longest) bytes")
        }
        guard text.utf8.allSatisfy(Self.isAllowed) else {
            throw EndpointURLError(description: "it has a fragment or characters that a URL cannot have")
        }
        // All characters are ASCII: one byte each.
        let rest: Substring.UTF8View
        if text.hasPrefix("https://") {
            (self.isHTTPS, rest) = (true, text.utf8.dropFirst(8))
        } else if text.hasPrefix("http://") {
            (self.isHTTPS, rest) = (false, text.utf8.dropFirst(7))
        } else {
            throw EndpointURLError(description: "it does not begin with https://")
        }
        guard let authority = Self.authority(Substring(rest.prefix { !Self.endsAuthority($0) })) else {
            throw EndpointURLError(description: "its host or port is malformed, or it has a user")
        }
        (self.host, self.port) = authority
        self.text = text
        guard self.isHTTPS || allowsPlainHTTP || self.isLoopback else {
            throw EndpointURLError(description: "http is accepted for localhost, 127.0.0.1 and [::1] only: use https")
        }
    }

    /// True if the host is this machine.
    package var isLoopback: Bool {
        let bare = self.host.hasPrefix("[") ? String(self.host.dropFirst().dropLast()) : self.host
        return bare == "localhost" || (IPAddress(bare)?.isLoopback ?? false)
    }

    /// Scheme, host and port (RFC 6454).
    package var origin: String { (self.isHTTPS ? "https://" : "http://") + self.authority }

    /// The value of `Host`. It has no port if the port is the scheme's default (RFC 9110 7.2).
    package var authority: String {
        self.host + (self.port.flatMap { $0 == (self.isHTTPS ? 443 : 80) ? nil : ":\($0)" } ?? "")
    }

    /// The request target: path and query (RFC 9112 3.2.1).
    package var target: String {
        let rest = self.text.utf8.dropFirst(self.isHTTPS ? 8 : 7).drop { !Self.endsAuthority($0) }
        return rest.first == UInt8(ascii: "/") ? String(Substring(rest)) : "/" + Substring(rest)
    }

    /// The path without the query.
    package var path: String { String(self.target.prefix { $0 != "?" }) }

    package var description: String { self.text }

    /// Returns whether a URL may contain this byte (RFC 3986 2.2 and 2.3, or `%`). `#` is excluded.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
            UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: (0x21...0x7E).contains(byte)
        }
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") }

    private static func authority(_ text: Substring) -> (host: String, port: Int?)? {
        var host = text
        var port: Int?
        let closing = text.utf8.lastIndex(of: UInt8(ascii: "]")) ?? text.startIndex
        if let colon = text.utf8[closing...].lastIndex(of: UInt8(ascii: ":")) {
            let digits = text[text.utf8.index(after: colon)...]
            guard let number = Int(digits), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                (1...65_535).contains(number)
            else { return nil }
            (host, port) = (text[..<colon], number)
        }
        if host.utf8.first == UInt8(ascii: "[") {
            guard host.hasSuffix("]"), let address = IPAddress(String(host.dropFirst().dropLast())), !address.isV4,
                !host.contains("%")
            else { return nil }
        } else {
            guard !host.isEmpty, host.utf8.allSatisfy({ $0.isAlphanumeric || "-._".utf8.contains($0) }) else {
                return nil
            }
        }
        return (host.lowercased(), port)
    }
}

/// Why a text is not accepted as a provider's URL.
package struct EndpointURLError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String
}
