import Pages
import Vocabulary

/// The page that a browser goes to after sign-in: a path on the request's host, never another host.
package enum ReturnTo {
    /// The maximum length. A longer target does not fit into a request line.
    private static let longest = 8192
    /// The maximum depth of percent-encoding. No legitimate path is encoded more deeply.
    private static let deepestEncoding = 4

    /// The parameter that carries a transfer token at `/authorize`, whatever name the routes use.
    private static let authorizationToken = "session_transfer_token"

    /// The prefixes of the paths of the gateway's own pages.
    private static let ownPages = [PageDesign.ownPages, PageDesign.oauth2ProxyBase + PageDesign.ownPages]
    private static let sessionsPages = [Self.sessionsPage, PageDesign.oauth2ProxyBase + Self.sessionsPage]
    /// The path of the page of a user's sessions (`SessionsPage`), on every host with a sign-in page.
    static let sessionsPage = "/.sallyport/sessions"

    /// Returns the page that a sign-in or sign-out leads back to, from the values of its redirect parameter. The page
    /// is `/` unless there is exactly one value and that value is safe. The gateway's own pages become `/`, too,
    /// because most of them redirect. Two of them are accepted: the page of the user's sessions, and another host's
    /// request for a ticket (`TicketPath.share`), for which the user signs in.
    ///
    /// - Parameters:
    ///   - origin: The origin of the host. A URL on it becomes the path there. `nil` to accept paths only.
    ///   - name: The query parameter that is removed from the page (see `sanitized(_:without:)`).
    package static func page(_ values: [String], of origin: String? = nil, without name: String) -> String {
        guard values.count == 1 else { return "/" }
        var target = values[0]
        if let origin, let url = Self.url(target), url.origin == origin { target = url.path }
        guard let path = self.sanitized(target, without: name) else { return "/" }
        guard self.ownPages.contains(where: path.hasPrefix) else { return path }
        return TicketPath.asks(path) || self.sessionsPages.contains(path) ? path : "/"
    }

    /// Splits an http or https URL into its origin as browsers write it (`WebOrigin`) and the rest, which begins with
    /// `/`. The path is not checked. `nil` if `text` is not such a URL.
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
    /// origin-form). Spaces, characters beyond ASCII, a `%` without its digits, and further `#` are percent-encoded.
    /// `nil` if `text` is not safe: use `/`.
    ///
    /// The rule is structural, so that it does not depend on predicting a parser (CVE-2022-23527, CVE-2024-52003).
    /// There is exactly one leading `/`. Controls are forbidden, because the WHATWG parser drops tabs and line breaks.
    /// Backslashes are forbidden, because it reads them as `/`. The path has no dot segment, no encoded control, and no
    /// encoded slash or backslash after the first `/`: careless decoders would create the forms above.
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

    /// Returns whether a target may contain the character, plain or encoded: no control, line break or backslash.
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

    /// Adds a parameter to the query of `page`, which is a path with its query and fragment.
    ///
    /// - Parameter parameter: The name and value, encoded for a query.
    static func adding(_ parameter: String, to page: String) -> String {
        let end = page.utf8.firstIndex(of: UInt8(ascii: "#")) ?? page.endIndex
        let separator = page[..<end].utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return "\(page[..<end])\(separator)\(parameter)\(page[end...])"
    }

    /// Returns the result of `sanitized(_:)` after removing each query parameter that carries `name` or
    /// `session_transfer_token`: the parameter itself, however its name is encoded, and any parameter whose value
    /// contains it (`next=%2Fx%3Fname%3D...`). A fragment that contains it is removed. `nil` if the target is not safe,
    /// or if its path contains the parameter.
    ///
    /// A transfer token in the target would come back after the sign-in as a navigation from this site, and so evade
    /// the checks of links from other sites.
    package static func sanitized(_ text: String, without name: String) -> String? {
        self.sanitized(text).flatMap { self.removing(name, from: $0) }
    }

    /// Removes every query parameter and fragment that carries the parameter `name` or `session_transfer_token` from
    /// `target`, a path with its query and fragment. `nil` if the path carries one of these parameters.
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

    /// Returns whether a parameter's value, e.g. a `state` that is a URL, contains a transfer token's parameter.
    package static func carriesToken(_ value: String) -> Bool {
        self.carries(Array(self.authorizationToken.utf8), value.utf8)
    }

    /// Returns whether `text` contains `name=` as a parameter, directly or after repeated percent-decoding. True for
    /// text that is encoded more deeply than the limit.
    private static func carries(_ name: [UInt8], _ text: some Collection<UInt8>) -> Bool {
        // Most texts have neither a parameter nor an escape.
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

    /// Returns whether the byte can be part of a parameter's name, so that the text after it is not a whole name.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Returns whether repeated percent-decoding by careless parties leaves the path's meaning unchanged.
    private static func isPlain(path: ArraySlice<UInt8>) -> Bool {
        // The escapes in the text itself must be complete. The decoded text may contain a plain `%`.
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
