package import Settings
import Vocabulary

/// The fields that a route sets and removes, in requests or in answers.
package struct FieldEdits: Sendable {
    /// The lines to set, each with its CRLF.
    package let lines: [UInt8]
    /// The starts of the lines that send the client's address to the app, each a name with a colon and a space.
    let addressNames: [[UInt8]]
    /// The normalised names of removed fields, including the fields to set.
    private let names: [[UInt8]]

    package init(_ changes: FieldChanges) {
        let constants = changes.set.filter { !$0.isClientAddress }
        self.lines = constants.flatMap { Array("\($0.name): \($0.value)\r\n".utf8) }
        self.addressNames = changes.set.filter(\.isClientAddress).map { Array("\($0.name): ".utf8) }
        self.names = changes.names.map { $0.utf8.map { ByteClass.normalizedToken[Int($0)] } }
    }

    package var isEmpty: Bool { self.names.isEmpty }

    /// Whether the field `name` is removed, in any spelling that an app may take for a removed name (CVE-2025-64484).
    func removes(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        self.names.contains { own in
            own.count == name.count && zip(own, name).allSatisfy { $0 == ByteClass.normalizedToken[Int($1)] }
        }
    }
}

/// The difference between the app's path and the public path.
package struct PathPrefixes: Sendable {
    /// The prefix that only the public path has.
    private let stripped: [UInt8]
    /// The prefix that only the app's path has.
    private let added: [UInt8]

    /// Creates the prefixes of a route. `nil` if the app gets the public path.
    package init?(_ settings: RouteSettings) {
        guard settings.stripPrefix != nil || settings.addPrefix != nil else { return nil }
        self.stripped = Array((settings.stripPrefix ?? "").utf8)
        self.added = Array((settings.addPrefix ?? "").utf8)
    }

    /// The maximum growth of a path or a reference in bytes.
    var growth: Int { self.stripped.count + self.added.count + 1 }

    /// Whether `path` begins with the stripped prefix exactly as configured, followed by nothing, one slash, or a slash
    /// and a name.
    ///
    /// Any other spelling (`/%61pp/x`) would reach the app as a path that was not judged (CVE-2026-40912). Some apps
    /// take the rest of `/app//x` or `/app/;/x` for a host name (RFC 3986 4.2).
    package func fits(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard path.starts(with: self.stripped) else { return false }
        let rest = UnsafeBufferPointer(rebasing: path[self.stripped.count...])
        guard let base = rest.baseAddress, let first = rest.first else { return true }
        return first == 0x2F && (rest.count == 1 || Self.beginsWithName(base, rest.count))
    }

    /// Whether the first segment of a path that begins with `/` has a name in every reading: without parameters,
    /// streams, dots and spaces, and decoded once or twice.
    private static func beginsWithName(_ path: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var index = 1
        while index < count {
            var byte = path[index]
            if byte == UInt8(ascii: "%"), let decoded = Hexadecimal.escape(path, at: index, count) {
                byte = decoded
                index &+= 2
                // The decoded byte may be decoded again together with the bytes that follow.
                if byte == UInt8(ascii: "%"), index &+ 2 < count,
                    let hidden = Hexadecimal.byte(path[index &+ 1], path[index &+ 2])
                {
                    byte = hidden
                    index &+= 2
                }
            }
            switch byte {
            case 0x2F, 0x5C, UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "#"), UInt8(ascii: "?"): return false
            case UInt8(ascii: "."), 0...0x20: index &+= 1
            default: return true
            }
        }
        return false
    }

    /// Writes the app's path for a public path for which `fits` is true.
    func writeOwn(_ path: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        writer.write(self.added)
        let rest = UnsafeBufferPointer(rebasing: path.dropFirst(self.stripped.count))
        if rest.isEmpty, self.added.isEmpty { writer.write(0x2F) }
        writer.write(rest)
    }

    /// Returns the app's path for a public path for which `fits` is true.
    func own(_ path: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: path.count + self.growth) { room in
            guard let base = room.baseAddress else { return 0 }
            var writer = ByteWriter(base)
            self.writeOwn(path, &writer)
            return writer.count
        }
    }

    /// Writes the public form of a reference in the app's answer (RFC 3986 4.2). A reference with the public prefix,
    /// outside the app, or to a page of the gateway is unchanged.
    func writePublic(_ reference: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        let isKnown = !self.stripped.isEmpty && Self.begins(reference, with: self.stripped)
        guard !isKnown, !Self.begins(reference, with: Self.gateway), Self.begins(reference, with: self.added) else {
            return writer.write(reference)
        }
        let rest = UnsafeBufferPointer(rebasing: reference.dropFirst(self.added.count))
        if self.stripped.isEmpty, Self.namesAnotherHost(rest) { return writer.write(reference) }
        writer.write(self.stripped)
        if self.stripped.isEmpty, rest.first != 0x2F { writer.write(0x2F) }
        writer.write(rest)
    }

    /// Writes the public form of a cookie's path in the app. The app's `/` becomes the prefix without a trailing slash,
    /// so that browsers match both spellings (RFC 6265 5.1.4).
    func writePublicScope(_ path: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        if path.count == 1, path.first == 0x2F, self.added.isEmpty {
            writer.write(self.stripped)
        } else {
            self.writePublic(path, &writer)
        }
    }

    /// Whether a browser may read the reference as `//host` (RFC 3986 4.2). Browsers treat a backslash as a slash and
    /// skip tabs and line ends.
    private static func namesAnotherHost(_ reference: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let next = reference.dropFirst().first else { return false }
        return next == 0x2F || next == 0x5C || next == 0x09 || next == 0x0A || next == 0x0D
    }

    /// The path of the gateway's own pages on every host.
    private static let gateway = Array("/.sallyport".utf8)

    /// Whether a reference is `path` or a path below it.
    private static func begins(_ reference: UnsafeBufferPointer<UInt8>, with path: [UInt8]) -> Bool {
        guard reference.starts(with: path) else { return false }
        guard let next = reference.dropFirst(path.count).first else { return true }
        return next == 0x2F || next == 0x3F || next == 0x23
    }
}
