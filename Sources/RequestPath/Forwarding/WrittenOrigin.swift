/// The origin at the start of a URL, in any spelling. The letter case may vary, the port may be the default or empty
/// (RFC 3986 6.2), and the scheme may be missing (RFC 3986 4.2).
struct WrittenOrigin {
    private enum Scheme {
        case http
        case https
        /// No scheme, as in `//host/path`.
        case relative
    }

    private let scheme: Scheme
    private let host: UnsafeBufferPointer<UInt8>
    /// The port. `nil` if the URL has none.
    private let port: Int?
    /// The length of the origin in bytes.
    let count: Int

    /// Returns `nil` for a path, another scheme, a URL with user information, or an invalid URL.
    init?(_ url: UnsafeBufferPointer<UInt8>) {
        let start: Int
        if Self.begins(url, with: "//") {
            (self.scheme, start) = (.relative, 2)
        } else if Self.begins(url, with: "http://") {
            (self.scheme, start) = (.http, 7)
        } else if Self.begins(url, with: "https://") {
            (self.scheme, start) = (.https, 8)
        } else {
            return nil
        }
        let end = url[start...].firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? url.endIndex
        let authority = url[start..<end]
        guard !authority.contains(UInt8(ascii: "@")) else { return nil }
        // An IPv6 address contains colons.
        let hostEnd = authority.first == UInt8(ascii: "[") ? authority.firstIndex(of: UInt8(ascii: "]")) : start
        guard let hostEnd else { return nil }
        let colon = authority[hostEnd...].firstIndex(of: UInt8(ascii: ":"))
        self.host = UnsafeBufferPointer(rebasing: url[start..<(colon ?? end)])
        let digits = UnsafeBufferPointer(rebasing: url[(colon.map { $0 + 1 } ?? end)..<end])
        self.port = ByteClass.decimal(digits)
        guard !self.host.isEmpty, digits.isEmpty || self.port != nil else { return nil }
        self.count = end
    }

    /// True if the origin equals `own`, an origin in the gateway's spelling.
    ///
    /// - Parameter takesPlain: True if `http` also matches `https`: an app may not know that its clients use TLS.
    func isSame(as own: [UInt8], takesPlain: Bool = false) -> Bool {
        own.withUnsafeBufferPointer { own in
            guard let own = WrittenOrigin(own), ByteClass.equalIgnoringCase(self.host, own.host) else { return false }
            switch (self.scheme, own.scheme) {
            case (.http, .http), (.https, .https), (.relative, _):
                return (self.port ?? own.defaultPort) == own.wholePort
            case (.http, .https) where takesPlain:
                return self.port == own.wholePort || self.wholePort == 80 && own.wholePort == 443
            default:
                return false
            }
        }
    }

    private var defaultPort: Int { self.scheme == .https ? 443 : 80 }
    private var wholePort: Int { self.port ?? self.defaultPort }

    private static func begins(_ url: UnsafeBufferPointer<UInt8>, with text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard url.count > count else { return false }
        return ByteClass.equal(UnsafeBufferPointer(rebasing: url[..<count]), text)
    }
}
