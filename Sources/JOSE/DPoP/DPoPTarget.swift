import Vocabulary

/// The URL that a proof must be made for (`htu`, RFC 9449 4.3): the configured public URL and the request's path.
///
/// Two URLs are compared after the normalisation of RFC 3986 6.2.2 and 6.2.3. Paths that are equal after
/// percent-decoding match as well, because Auth0.Android writes the decoded path into `htu`. A proof for
/// `/a/b` is therefore also valid for `/a%2Fb`. This is harmless: only the holder of the key can make a proof, and the
/// proof is valid once and for one method.
package struct DPoPTarget: Sendable {
    /// The configured scheme, host and port, and the path as the client sent it.
    private let url: [UInt8]

    /// - Parameters:
    ///   - origin: The origin of the configured `public_url`, e.g. `https://app.example.com`; never from `Host` or a
    ///     forwarding field.
    ///   - path: The path as the client sent it. A query or fragment is dropped.
    package init(origin: [UInt8], path: [UInt8]) {
        self.url =
            origin
            + (path.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }.map { path[..<$0] } ?? path[...])
    }

    /// Returns whether `htu` names this URL. Query and fragment of `htu` are ignored; a client should not send them.
    package func matches(_ htu: String) -> Bool {
        // Nearly every client writes exactly the URL that it requests.
        if htu.utf8.withContiguousStorageIfAvailable({ $0.elementsEqual(self.url) }) == true { return true }
        guard let theirs = NormalURL(Array(htu.utf8)[...]), let ours = NormalURL(self.url[...]) else { return false }
        return theirs.origin == ours.origin && (theirs.path == ours.path || theirs.decodedPath == ours.decodedPath)
    }
}

/// A normalised http or https URL.
private struct NormalURL {
    /// Scheme and authority, without the default port of the scheme.
    let origin: [UInt8]
    let path: [UInt8]

    /// `nil` unless `url` is an absolute http or https URL with a host and without a user.
    init?(_ url: ArraySlice<UInt8>) {
        let lowered = url.prefix(8).map(Self.lowered)
        let scheme = ["https://", "http://"].first { lowered.starts(with: $0.utf8) }
        guard let scheme else { return nil }
        let rest = url.dropFirst(scheme.utf8.count)
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        guard !authority.isEmpty, !authority.contains(UInt8(ascii: "@")) else { return nil }
        let isSecure = scheme == "https://"
        self.origin = Array(scheme.utf8) + Self.host(authority.map(Self.lowered), port: isSecure ? ":443" : ":80")
        self.path = Self.normalised(rest.dropFirst(authority.count).prefix { !"?#".utf8.contains($0) })
    }

    /// The path with its reserved characters decoded as well.
    var decodedPath: [UInt8] { PercentCoding.leniently(self.path, plusIsSpace: false) }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// Returns the authority without an empty port and without the default port of the scheme (RFC 3986 6.2.3).
    private static func host(_ authority: [UInt8], port: String) -> [UInt8] {
        if authority.last == UInt8(ascii: ":") { return authority.dropLast() }
        let suffix = authority.suffix(port.utf8.count)
        return suffix.elementsEqual(port.utf8) ? authority.dropLast(suffix.count) : authority
    }

    /// Normalises the path by RFC 3986 6.2.2: upper-case escapes, unreserved characters decoded, characters that a path
    /// cannot contain encoded, dot segments removed. An empty path becomes `/` (6.2.3).
    private static func normalised(_ path: ArraySlice<UInt8>) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(path.count + 1)
        var rest = path
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first, let low = rest.dropFirst().first,
                let value = Hexadecimal.byte(high, low)
            {
                rest = rest.dropFirst(2)
                Self.append(value, to: &encoded, where: Self.isUnreserved(value))
            } else {
                Self.append(byte, to: &encoded, where: Self.isOfPaths(byte))
            }
        }
        return Self.withoutDotSegments(encoded)
    }

    /// Appends `byte` itself if `isPlain` is true, otherwise its escape.
    private static func append(_ byte: UInt8, to bytes: inout [UInt8], where isPlain: Bool) {
        if isPlain {
            bytes.append(byte)
        } else {
            Hexadecimal.appendEscape(of: byte, to: &bytes)
        }
    }

    /// Removes dot segments (RFC 3986 5.2.4).
    private static func withoutDotSegments(_ path: [UInt8]) -> [UInt8] {
        var kept: [ArraySlice<UInt8>] = []
        // The first element is the empty text before the first slash.
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in zip(segments.indices, segments) {
            let isLast = index == segments.endIndex - 1
            if segment.elementsEqual(".".utf8) || segment.elementsEqual("..".utf8) {
                if segment.count == 2 { _ = kept.popLast() }
                if isLast { kept.append([]) }
            } else {
                kept.append(segment)
            }
        }
        return kept.isEmpty ? [UInt8(ascii: "/")] : kept.flatMap { [UInt8(ascii: "/")] + $0 }
    }

    /// Returns whether a byte is unreserved (RFC 3986 2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Returns whether a path may contain the byte unencoded (`pchar` and `/`, RFC 3986 3.3).
    private static func isOfPaths(_ byte: UInt8) -> Bool {
        Self.isUnreserved(byte) || "!$&'()*+,;=:@/".utf8.contains(byte)
    }
}
