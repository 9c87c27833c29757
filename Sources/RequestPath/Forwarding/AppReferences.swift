/// Rewrites the references in a client's `Destination` and `If` (WebDAV, RFC 4918 10.3, 10.4) on routes that change the
/// path. The origins in the references are unchanged.
package struct AppReferences {
    private let prefixes: PathPrefixes
    private let publicOrigin: [UInt8]

    /// - Parameter publicOrigin: The origin of the request's host.
    package init(_ prefixes: PathPrefixes, publicOrigin: [UInt8]) {
        self.prefixes = prefixes
        self.publicOrigin = publicOrigin
    }

    /// Returns `nil` if the route does not change references.
    package init?(_ route: RouteEntry, publicOrigin: [UInt8]) {
        guard route.changesReferences, let prefixes = route.prefixes else { return nil }
        self.init(prefixes, publicOrigin: publicOrigin)
    }

    /// Where a reference leads.
    private enum Place {
        /// To the app. The range contains the path.
        case own(Range<Int>)
        /// To a public path outside of the app.
        case outside
        /// To another origin. Also used for relative paths.
        case elsewhere
    }

    private func place(of value: UnsafeBufferPointer<UInt8>) -> Place {
        var start = 0
        if let written = WrittenOrigin(value) {
            guard written.isSame(as: self.publicOrigin, takesPlain: true) else { return .elsewhere }
            start = written.count
        } else if value.first != 0x2F {
            return .elsewhere
        }
        let end = value[start...].firstIndex { $0 == 0x3F || $0 == 0x23 } ?? value.count
        return self.prefixes.fits(UnsafeBufferPointer(rebasing: value[start..<end])) ? .own(start..<end) : .outside
    }

    /// True if a reference leads to a public path outside of the app. The app would mistake the path for its own.
    package func misses(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        if case .outside = self.place(of: value) { true } else { false }
    }

    /// Writes one reference.
    package func write(_ value: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        guard case .own(let path) = self.place(of: value) else { return writer.write(value) }
        writer.write(UnsafeBufferPointer(rebasing: value[..<path.lowerBound]))
        self.prefixes.writeOwn(UnsafeBufferPointer(rebasing: value[path]), &writer)
        writer.write(UnsafeBufferPointer(rebasing: value[path.upperBound...]))
    }

    /// Writes the value of `If`. References are in angle brackets outside of parentheses (RFC 4918 10.4.2).
    package func writeCondition(_ value: UnsafeBufferPointer<UInt8>, _ writer: inout ByteWriter) {
        var written = 0
        var index = 0
        var isInList = false
        func end(_ byte: UInt8) -> Int { value[(index + 1)...].firstIndex(of: byte) ?? value.count }
        while index < value.count {
            switch value[index] {
            case UInt8(ascii: "("): isInList = true
            case UInt8(ascii: ")"): isInList = false
            // An entity tag may contain brackets and parentheses.
            case UInt8(ascii: "\""): index = end(UInt8(ascii: "\""))
            case UInt8(ascii: "<"):
                let (start, end) = (index + 1, end(UInt8(ascii: ">")))
                if !isInList, end < value.count {
                    writer.write(UnsafeBufferPointer(rebasing: value[written..<start]))
                    self.write(UnsafeBufferPointer(rebasing: value[start..<end]), &writer)
                    written = end
                }
                index = end
            default: break
            }
            index += 1
        }
        writer.write(UnsafeBufferPointer(rebasing: value[written...]))
    }

    /// Returns the maximum number of bytes by which the references in a request can grow.
    static func growth(_ head: RequestHead, _ base: Bytes, on route: RouteEntry) -> Int {
        guard let prefixes = route.prefixes else { return 0 }
        var count = 1
        for index in 0..<head.fields.count {
            switch head.fields[index].role {
            case .destination: count += 1
            case .condition: count += head.fields[index].value.bytes(in: base).count { $0 == UInt8(ascii: "<") }
            default: break
            }
        }
        return prefixes.growth * count
    }
}
