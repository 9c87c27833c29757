import Pages
import Vocabulary

/// The page that a browser opens after sign-in or sign-out: always a path on the request's host.
package enum ReturnTo {
    /// The maximum length in bytes. A longer target does not fit into a request line.
    private static let longest = 8192
    /// The maximum number of nested percent-encodings.
    private static let deepestEncoding = 4

    /// The parameter for a transfer token at `/authorize`. Routes may use another name.
    private static let authorizationToken = "session_transfer_token"

    /// The path prefixes of the gateway's own pages.
    private static let ownPages = [PageDesign.ownPages, PageDesign.oauth2ProxyBase + PageDesign.ownPages]
    private static let sessionsPages = [Self.sessionsPage, PageDesign.oauth2ProxyBase + Self.sessionsPage]
    /// The path of the page that lists the user's sessions (`SessionsPage`).
    static let sessionsPage = "/.sallyport/sessions"

    /// Returns the page to open, from the values of a redirect parameter. Returns `/` unless there is exactly one value
    /// and it is safe. The gateway's own pages also become `/`, because most of them redirect. Exceptions are the page
    /// of the user's sessions and another host's request for a ticket (`TicketPath.share`).
    ///
    /// - Parameters:
    ///   - origin: The origin of the host. A URL on this origin becomes its path. `nil` to accept paths only.
    ///   - name: The query parameter to remove from the page (`sanitized(_:without:)`).
    package static func page(_ values: [String], of origin: String? = nil, without name: String) -> String {
        guard values.count == 1 else { return "/" }
        var target = values[0]
        if let origin, let url = Self.url(target), url.origin == origin { target = url.path }
        guard let path = self.sanitized(target, without: name) else { return "/" }
        guard self.ownPages.contains(where: path.hasPrefix) else { return path }
        return TicketPath.asks(path) || self.sessionsPages.contains(path) ? path : "/"
    }

    /// Splits a URL into its origin (`WebOrigin.text`) and the rest, which begins with `/` and is not checked. `nil` if
    /// `text` is no http or https URL.
    static func url(_ text: String) -> (origin: String, path: String)? {
        let bytes = text.utf8
        guard let scheme = bytes.firstRange(of: "://".utf8) else { return nil }
        let end =
            bytes[scheme.upperBound...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        guard let origin = WebOrigin(bytes[..<end]) else { return nil }
        let path = String(text[end...])
        return (origin.text, path.utf8.first == UInt8(ascii: "/") ? path : "/\(path)")
    }

    /// Returns the path, query and fragment that every browser resolves `text` to on this host (RFC 9112 3.2.1,
    /// origin-form). Bytes that a URL cannot contain are percent-encoded. `nil` if `text` is not safe.
    ///
    /// The rule does not predict a parser (CVE-2022-23527, CVE-2024-52003). It forbids:
    /// - controls, because the WHATWG parser drops tabs and line breaks
    /// - backslashes, because the WHATWG parser reads them as `/`
    /// - in the path, even if percent-encoded: dot segments, controls and a second leading slash
    package static func sanitized(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count <= Self.longest, bytes.first == UInt8(ascii: "/") else { return nil }
        if bytes.count > 1, bytes[1] == UInt8(ascii: "/") { return nil }
        guard !text.isDamaged, text.unicodeScalars.allSatisfy(Self.isAllowed) else { return nil }
        let encoded = Self.encoded(bytes)
        let path = encoded.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard encoded.count <= Self.longest, Self.isPlain(path: path) else { return nil }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Returns whether a target may contain the character: no control, line break or backslash.
    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x5C, 0x7F...0x9F, 0x2028, 0x2029: false
        default: true
        }
    }

    /// Percent-encodes the bytes that a URL cannot contain. Existing escapes are kept.
    private static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(bytes.count)
        var isFragment = false
        for (index, byte) in bytes.enumerated() {
            let isKept: Bool
            switch byte {
            case UInt8(ascii: "%"):
                isKept = index + 2 < bytes.count && bytes[(index + 1)...(index + 2)].allSatisfy(Self.isHexadecimal)
            case UInt8(ascii: "#"):
                isKept = !isFragment
                isFragment = true
            default: isKept = byte > 0x20 && byte < 0x7F
            }
            if isKept { encoded.append(byte) } else { Hexadecimal.appendEscape(of: byte, to: &encoded) }
        }
        return encoded
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 6
    }

    /// Adds a parameter to the query of `page`, before the fragment.
    ///
    /// - Parameter parameter: `name=value`, percent-encoded.
    static func adding(_ parameter: String, to page: String) -> String {
        let end = page.utf8.firstIndex(of: UInt8(ascii: "#")) ?? page.endIndex
        let separator = page[..<end].utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return "\(page[..<end])\(separator)\(parameter)\(page[end...])"
    }

    /// Sanitizes `text` and removes the transfer token's parameter (`removing(_:from:)`). `nil` if the target is not
    /// safe, or its path contains the parameter.
    ///
    /// After the sign-in, a token in the target would come back as a navigation from this site. The checks of links
    /// from other sites would not apply.
    package static func sanitized(_ text: String, without name: String) -> String? {
        self.sanitized(text).flatMap { self.removing(name, from: $0) }
    }

    /// Removes every query parameter that is `name` or `session_transfer_token`, or contains one of them in its value
    /// (`next=%2Fx%3Fname%3D...`). Also removes a fragment that contains one. `nil` if the path contains one.
    package static func removing(_ name: String, from target: String) -> String? {
        let names = Set([name, Self.authorizationToken]).map { Array($0.utf8) }
        func carriesToken(_ text: some Collection<UInt8>) -> Bool { names.contains { Self.carries($0, text) } }
        let end = target.utf8.firstIndex(of: UInt8(ascii: "#")) ?? target.endIndex
        let fragment = carriesToken(target.utf8[end...]) ? "" : String(target[end...])
        let page = String(target[..<end])
        let parts = page.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = parts.first, !carriesToken(path) else { return nil }
        guard parts.count == 2 else { return page + fragment }
        let pairs = parts[1].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let kept = pairs.filter { !carriesToken($0) }
        if kept.count == pairs.count { return page + fragment }
        let query = kept.map { String(Substring($0)) }.joined(separator: "&")
        return String(Substring(path)) + (kept.isEmpty ? "" : "?\(query)") + fragment
    }

    /// Returns whether a value, e.g. a `state` that is a URL, contains the parameter `session_transfer_token`.
    package static func carriesToken(_ value: String) -> Bool {
        self.carries(Array(self.authorizationToken.utf8), value.utf8)
    }

    /// Returns whether `text` contains `name=`, plain or percent-encoded. True if it is encoded too deeply to tell.
    private static func carries(_ name: [UInt8], _ text: some Collection<UInt8>) -> Bool {
        // Fast path: most texts have neither a parameter nor an escape.
        guard text.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "%") }) else { return false }
        var layer = Array(text)
        for _ in 0...Self.deepestEncoding {
            if Self.hasParameter(name, layer) { return true }
            let next = PercentCoding.leniently(layer, plusIsSpace: false)
            if next == layer { return false }
            layer = next
        }
        return true
    }

    private static func hasParameter(_ name: [UInt8], _ text: [UInt8]) -> Bool {
        let sought = name + [UInt8(ascii: "=")]
        guard text.count >= sought.count else { return false }
        return text.withUnsafeBytes { text in
            sought.withUnsafeBytes { sought in
                (0...(text.count - sought.count)).contains { start in
                    text[start] == sought[0] && text[start...].starts(with: sought)
                        && (start == 0 || !Self.isOfName(text[start - 1]))
                }
            }
        }
    }

    /// Returns whether the byte can be part of a parameter's name. `rename=` does not contain the parameter `name`.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Returns whether the path stays safe if careless servers percent-decode it repeatedly.
    private static func isPlain(path: ArraySlice<UInt8>) -> Bool {
        // Only the original text must have complete escapes. A decoded layer may contain a plain `%`.
        guard var layer = PercentCoding.decoded(path, plusIsSpace: false) else { return false }
        for _ in 0..<Self.deepestEncoding {
            layer = layer.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 }
            guard !layer.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]), !Self.hasDotSegment(layer),
                layer.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else { return false }
            guard let next = PercentCoding.decoded(layer, plusIsSpace: false), next != layer else { return true }
            layer = next
        }
        return false
    }

    /// Returns whether a segment is `.` or `..`, with or without `;parameters`.
    private static func hasDotSegment(_ path: [UInt8]) -> Bool {
        path.split(separator: UInt8(ascii: "/")).contains { segment in
            let name = segment.prefix { $0 != UInt8(ascii: ";") }
            return (name.count == 1 || name.count == 2) && name.allSatisfy { $0 == UInt8(ascii: ".") }
        }
    }
}
