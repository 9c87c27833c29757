/// Makes an app's references public: replaces the app's origin by the public origin, and adds the route's prefixes to
/// the app's paths. Relative paths and references to other origins are unchanged.
package struct PublicReferences {
    private let prefixes: PathPrefixes?
    /// The origins that the app may write besides the public origin.
    private let ownOrigins: [[UInt8]]
    private let publicOrigin: [UInt8]

    /// - Parameters:
    ///   - prefixes: The difference between the app's paths and the public paths. `nil` if they are equal.
    ///   - ownOrigins: The origins that the app may write besides the public origin, such as `http://127.0.0.1:9000`.
    ///   - publicOrigin: The origin that replaces `ownOrigins`.
    package init(_ prefixes: PathPrefixes?, ownOrigins: [[UInt8]], publicOrigin: [UInt8]) {
        self.prefixes = prefixes
        self.ownOrigins = ownOrigins
        self.publicOrigin = publicOrigin
    }

    /// Creates a rewriter for the answers of an app.
    ///
    /// - Parameters:
    ///   - route: The route. `nil` unless the route changes its app's answers.
    ///   - origin: The origin of the app's server.
    init(_ route: Pinned<RouteEntry>?, origin: [UInt8], publicOrigin: [UInt8]) {
        let route = route?.counted
        self.init(route?.prefixes, ownOrigins: [origin] + (route?.ownOrigins ?? []), publicOrigin: publicOrigin)
    }

    /// The maximum number of bytes by which one reference can grow.
    var growth: Int { self.publicOrigin.count + (self.prefixes?.growth ?? 0) }

    /// Returns the maximum number of bytes by which one reference can grow.
    static func growth(_ route: Pinned<RouteEntry>?, _ publicOrigin: [UInt8]) -> Int {
        publicOrigin.count + (route?.use { $0.prefixes?.growth ?? 0 } ?? 0)
    }

    /// True if a reference begins with the app's or the public origin. For routes that change no answers.
    static func hasOwnOrigin(_ value: UnsafeBufferPointer<UInt8>, origin: [UInt8], publicOrigin: [UInt8]) -> Bool {
        guard let written = WrittenOrigin(value) else { return false }
        return written.isSame(as: origin) || written.isSame(as: publicOrigin, takesPlain: true)
    }

    /// Writes one reference (RFC 3986 4.1).
    package func write(_ value: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        let own = self.ownLength(value)
        if own > 0 { writer.write(self.publicOrigin) }
        let rest = UnsafeBufferPointer(rebasing: value.dropFirst(own))
        let isPath = own > 0 || rest.first == 0x2F && rest.dropFirst().first != 0x2F
        guard isPath, let prefixes = self.prefixes else { return writer.write(rest) }
        prefixes.writePublic(rest, &writer)
    }

    /// Writes the value of `Link`. References are in angle brackets outside of quoted strings (RFC 8288 3).
    package func writeLinks(_ value: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        var written = 0
        var index = 0
        while index < value.count {
            switch value[index] {
            case UInt8(ascii: "\""):
                index += 1
                while index < value.count, value[index] != UInt8(ascii: "\"") {
                    index += value[index] == UInt8(ascii: "\\") ? 2 : 1
                }
            case UInt8(ascii: "<"):
                let start = index + 1
                guard let end = value[start...].firstIndex(of: UInt8(ascii: ">")) else {
                    return writer.write(value, from: written)
                }
                writer.write(UnsafeBufferPointer(rebasing: value[written..<start]))
                self.write(UnsafeBufferPointer(rebasing: value[start..<end]), &writer)
                (written, index) = (end, end)
            default: break
            }
            index += 1
        }
        writer.write(value, from: written)
    }

    /// Writes the value of `Refresh` (HTML 4.2.5.3): seconds, `;` or `,`, and a URL, perhaps after `url=` or in quotes.
    package func writeRefresh(_ value: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        func skip(_ index: inout Int, while isSkipped: (UInt8) -> Bool) {
            while index < value.count, isSkipped(value[index]) { index += 1 }
        }
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        var index = 0
        skip(&index) { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
        guard index < value.count else { return writer.write(value) }
        index += 1
        skip(&index, while: isBlank)
        if index + 3 <= value.count, ByteClass.equal(UnsafeBufferPointer(rebasing: value[index..<(index + 3)]), "url") {
            var end = index + 3
            skip(&end, while: isBlank)
            if end < value.count, value[end] == UInt8(ascii: "=") {
                index = end + 1
                skip(&index, while: isBlank)
            }
        }
        var end = value.count
        if index < end, value[index] == UInt8(ascii: "'") || value[index] == UInt8(ascii: "\"") {
            let quote = value[index]
            index += 1
            end = value[index...].firstIndex(of: quote) ?? end
        }
        writer.write(UnsafeBufferPointer(rebasing: value[..<index]))
        self.write(UnsafeBufferPointer(rebasing: value[index..<end]), &writer)
        writer.write(value, from: end)
    }

    /// Writes the value of `Set-Cookie` with the public path. Cookies without a path to change (`path(of:)`) and
    /// `__Host-` cookies (which require the path `/`) are unchanged.
    package func writeCookie(_ cookie: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        guard let prefixes = self.prefixes, !Self.isBoundToHost(cookie),
            let path = Self.path(of: cookie)
        else { return writer.write(cookie) }
        writer.write(UnsafeBufferPointer(rebasing: cookie[..<path.lowerBound]))
        prefixes.writePublicScope(UnsafeBufferPointer(rebasing: cookie[path]), &writer)
        writer.write(cookie, from: path.upperBound)
    }

    /// True if the cookie's name begins with `__Host-`, in any letter case.
    private static func isBoundToHost(_ cookie: UnsafeBufferPointer<UInt8>) -> Bool {
        let name = ByteClass.trimmed(cookie)
        return name.count >= 7 && ByteClass.equal(UnsafeBufferPointer(rebasing: name[..<7]), "__host-")
    }

    /// Returns the range of the last `Path` in a cookie (RFC 6265 5.3). `nil` if the path is missing, does not begin
    /// with `/`, or is `/` in a cookie with a `Domain`, which includes other hosts.
    private static func path(of cookie: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        var path: Range<Int>?
        var hasDomain = false
        var index = cookie.firstIndex(of: UInt8(ascii: ";")) ?? cookie.count
        while index < cookie.count {
            let start = index + 1
            index = cookie[start...].firstIndex(of: UInt8(ascii: ";")) ?? cookie.count
            guard let sign = cookie[start..<index].firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = ByteClass.trimmed(UnsafeBufferPointer(rebasing: cookie[start..<sign]))
            if ByteClass.equal(name, "path") {
                let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
                let first = cookie[(sign + 1)..<index].firstIndex { !isBlank($0) } ?? index
                let last = cookie[first..<index].lastIndex { !isBlank($0) }
                path = first..<(last.map { $0 + 1 } ?? first)
            } else if ByteClass.equal(name, "domain") {
                hasDomain = true
            }
        }
        guard let path, cookie[path].first == 0x2F, !(hasDomain && path.count == 1) else { return nil }
        return path
    }

    /// Returns the length of a URL's origin if the URL leads to the app, otherwise 0. The app may write its own origin,
    /// the public origin, or an origin that the route sends to the app.
    private func ownLength(_ value: UnsafeBufferPointer<UInt8>) -> Int {
        guard let written = WrittenOrigin(value) else { return 0 }
        let isOwn =
            written.isSame(as: self.publicOrigin, takesPlain: true)
            || self.ownOrigins.contains { written.isSame(as: $0) }
        return isOwn ? written.count : 0
    }
}

extension ByteWriter {
    /// Writes `bytes` without the first `start` bytes.
    fileprivate mutating func write(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int) {
        self.write(UnsafeBufferPointer(rebasing: bytes.dropFirst(start)))
    }
}
