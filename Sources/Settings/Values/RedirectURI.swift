import AddressIntelligence
import Vocabulary

/// A registered `redirect_uri` of a client.
package struct RedirectURI: Sendable, Hashable {
    /// The URI as written.
    package let text: String
    /// The scheme in lower case.
    package let scheme: String
    /// An http URI on loopback, where apps use any port (RFC 8252 7.3), without its port; `nil` for other URIs.
    private let portless: String?
    /// The origin as browsers write it (RFC 6454 6.1); `nil` for an app's own scheme.
    package let origin: String?

    /// Reads a redirect URI: absolute, without a fragment (RFC 6749 3.1.2), and with https, http on loopback, or an
    /// app's own scheme; `nil` for any other text.
    package init?(_ text: String) {
        guard (1...2048).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !text.utf8.contains(where: { #"#*"<>\^`{|}"#.utf8.contains($0) }), let colon = text.firstIndex(of: ":")
        else { return nil }
        let scheme = text[..<colon].lowercased()
        let rest = text[text.index(after: colon)...]
        guard let first = scheme.utf8.first, (0x61...0x7A).contains(first),
            scheme.utf8.allSatisfy({ $0.isAlphanumeric || "+-.".utf8.contains($0) }),
            !Self.unusable.contains(scheme), !rest.isEmpty
        else { return nil }
        self.text = text
        self.scheme = scheme
        guard scheme == "http" || scheme == "https" else {
            self.portless = nil
            self.origin = nil
            return
        }
        guard rest.hasPrefix("//") else { return nil }
        let authority = rest.dropFirst(2).prefix { !"/?".contains($0) }
        guard !authority.isEmpty, !authority.utf8.contains(UInt8(ascii: "@")), let host = Self.host(authority) else {
            return nil
        }
        let port = authority[host.endIndex...]
        let hasUsualPort = port.isEmpty || port == (scheme == "https" ? ":443" : ":80")
        self.origin = "\(scheme)://\(host.lowercased())\(hasUsualPort ? "" : port)"
        guard scheme == "http" else {
            self.portless = nil
            return
        }
        let address = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
        guard address == "localhost" || IPAddress(address)?.isLoopback == true else { return nil }
        self.portless = "http://" + host + rest.dropFirst(2 + authority.count)
    }

    /// The path of an https URL as written, `/` if it is empty; `nil` for any other URI.
    package var securePath: String? { self.scheme == "https" ? self.path : nil }

    /// The path of an http or https URL as written, `/` if it is empty.
    var path: String {
        let path = self.text.dropFirst("\(self.scheme)://".count).drop { !"/?".contains($0) }.prefix { $0 != "?" }
        return path.isEmpty ? "/" : String(path)
    }

    /// Whether the URI has an app's own scheme.
    var hasOwnScheme: Bool { self.scheme != "https" && self.scheme != "http" }

    /// Whether a request's `redirect_uri` equals the URI in every character (RFC 9700 4.1.3), except the loopback port.
    package func matches(_ presented: String) -> Bool {
        // Compares bytes, because Swift treats canonically equivalent Unicode texts as equal.
        if presented.isExactly(self.text) { return true }
        guard let portless = self.portless, let other = RedirectURI(presented) else { return false }
        return other.portless.map { $0.utf8.elementsEqual(portless.utf8) } ?? false
    }

    /// The answer's parameters (RFC 6749 4.1.2, RFC 9207) that the URI's query already has. Apps would get them twice.
    var answerParameters: [String] {
        let query = self.text.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        let names = Set(query.split(separator: "&").map { $0.prefix { $0 != "=" } })
        return ["code", "state", "iss", "error"].filter { names.contains($0[...]) }
    }

    /// Schemes that a browser or the system handles itself.
    private static let unusable: Set<String> = [
        "about", "blob", "data", "file", "filesystem", "ftp", "intent", "javascript", "mailto", "tel", "vbscript", "ws",
        "wss", "view-source",
    ]

    /// Whether a text is a port, in digits only. `UInt16` also accepts a sign.
    private static func isPort(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } && text.first != "0"
            && UInt16(text) != nil
    }

    /// Returns the authority without its port; `nil` if the host or port is invalid.
    private static func host(_ authority: Substring) -> Substring? {
        let end: Substring.Index
        if authority.hasPrefix("[") {
            guard let bracket = authority.firstIndex(of: "]") else { return nil }
            end = authority.index(after: bracket)
        } else {
            end = authority.firstIndex(of: ":") ?? authority.endIndex
        }
        let port = authority[end...]
        guard port.isEmpty || (port.hasPrefix(":") && Self.isPort(port.dropFirst())), end > authority.startIndex
        else {
            return nil
        }
        return authority[..<end]
    }
}
