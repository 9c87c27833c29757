package import Settings
import Vocabulary

/// The fields that a route sets and removes, in requests or in answers.
package struct FieldEdits: Sendable {
    /// The lines that are set, each with its CRLF.
    package let lines: [UInt8]
    /// The beginnings of lines that are set to the client's address, each a name with a colon and a space.
    let addressNames: [[UInt8]]
    /// The normalised names of the fields that are removed, those that are set among them.
    private let names: [[UInt8]]

    package init(_ changes: FieldChanges) {
        let constants = changes.set.filter { !$0.isClientAddress }
        self.lines = constants.flatMap { Array("\($0.name): \($0.value)\r\n".utf8) }
        self.addressNames = changes.set.filter(\.isClientAddress).map { Array("\($0.name): ".utf8) }
        self.names = changes.names.map { $0.utf8.map { ByteClass.normalizedToken[Int($0)] } }
    }

    package var isEmpty: Bool { self.names.isEmpty }

    /// Whether a field is removed. Its name counts in every spelling that an app may take for it (CVE-2025-64484).
    func removes(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        self.names.contains { own in
            own.count == name.count && zip(own, name).allSatisfy { $0 == ByteClass.normalizedToken[Int($1)] }
        }
    }
}

/// How the path that an app gets differs from the public one.
package struct PathPrefixes: Sendable {
    /// What the public path begins with, and the app's does not.
    private let stripped: [UInt8]
    /// What the app's path begins with, and the public one does not.
    private let added: [UInt8]

    /// nil: the app gets the public path.
    package init?(_ settings: RouteSettings) {
        guard settings.stripPrefix != nil || settings.addPrefix != nil else { return nil }
        self.stripped = Array((settings.stripPrefix ?? "").utf8)
        self.added = Array((settings.addPrefix ?? "").utf8)
    }

    /// How much longer a path or a reference can become, in bytes.
    var growth: Int { self.stripped.count + self.added.count + 1 }

    /// Whether `path` begins with the stripped prefix as it is written, followed by nothing, by one slash, or by a slash and
    /// a name. A path that only some app reads so, such as `/%61pp/x`, would reach the app as one that was not judged
    /// (CVE-2026-40912); and the rest of one such as `/app//x` or `/app/;/x` is the name of a host to some readers
    /// (RFC 3986 4.2).
    package func fits(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard path.starts(with: self.stripped) else { return false }
        let rest = UnsafeBufferPointer(rebasing: path[self.stripped.count...])
        guard let base = rest.baseAddress, let first = rest.first else { return true }
        return first == 0x2F && (rest.count == 1 || Self.beginsWithName(base, rest.count))
    }

    /// Whether the first segment of a path that begins with `/` has a name, however it is read: without parameters, streams,
    /// dots and spaces, and decoded once or twice.
    private static func beginsWithName(_ path: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        var index = 1
        while index < count {
            var byte = path[index]
            if byte == UInt8(ascii: "%"), let decoded = Hexadecimal.escape(path, at: index, count) {
                byte = decoded
                index &+= 2
                // What it is decoded to may be decoded again with what follows.
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

    /// Writes the app's path for a public one that fits.
    func writeOwn(_ path: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        writer.write(self.added)
        let rest = UnsafeBufferPointer(rebasing: path.dropFirst(self.stripped.count))
        if rest.isEmpty, self.added.isEmpty { writer.write(0x2F) }
        writer.write(rest)
    }

    /// The app's path for a public one that fits, as text.
    func own(_ path: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: path.count + self.growth) { room in
            guard let base = room.baseAddress else { return 0 }
            var writer = ByteWriter(base)
            self.writeOwn(path, &writer)
            return writer.count
        }
    }

    /// Writes the public form of a reference that begins with a path of the app (RFC 3986 4.2). One that has the public
    /// prefix already comes from an app that knows it (`X-Forwarded-Prefix`) and stays as it is, and so do a path outside of
    /// the app's and one of the gateway's own, to which an app sends its users to sign out.
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

    /// Writes the public form of the path for which the app keeps a cookie. All paths of the app are the prefix itself, which
    /// browsers match with and without a slash behind it (RFC 6265 5.1.4).
    func writePublicScope(_ path: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        if path.count == 1, path.first == 0x2F, self.added.isEmpty {
            writer.write(self.stripped)
        } else {
            self.writePublic(path, &writer)
        }
    }

    /// Whether a browser may read the reference as `//host` (RFC 3986 4.2): to browsers a backslash is a slash, and they skip
    /// tabs and ends of lines.
    private static func namesAnotherHost(_ reference: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let next = reference.dropFirst().first else { return false }
        return next == 0x2F || next == 0x5C || next == 0x09 || next == 0x0A || next == 0x0D
    }

    /// Where every host has the gateway's own pages.
    private static let gateway = Array("/.sallyport".utf8)

    /// Whether a reference is `path` or below it.
    private static func begins(_ reference: UnsafeBufferPointer<UInt8>, with path: [UInt8]) -> Bool {
        guard reference.starts(with: path) else { return false }
        guard let next = reference.dropFirst(path.count).first else { return true }
        return next == 0x2F || next == 0x3F || next == 0x23
    }
}
