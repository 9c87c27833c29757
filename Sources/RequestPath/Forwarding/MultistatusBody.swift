package import NIOCore

/// Replaces references to the app in the `href` elements of a WebDAV 207 answer (RFC 4918 8.3, 14.7).
///
/// Reads the content as a stream. Finds only elements with the root's prefix: apps use one prefix for `DAV:`.
package final class MultistatusBody {
    private enum State {
        /// Text that is not in an href.
        case text
        /// In a tag, within its name.
        case name
        /// In a tag, after its name. `quote` is the quotation mark around the current attribute's value, or 0.
        case attributes(quote: UInt8)
        /// In a comment, section or instruction. It ends with the bytes `end`.
        case opaque(end: UInt32, mask: UInt32)
        /// The text of an href.
        case reference
    }

    private let references: PublicReferences
    private var state = State.text
    /// The name of the current tag, or the text of the current href.
    private var collected: [UInt8] = []
    /// The last four bytes.
    private var last: UInt32 = 0
    /// The name of the href elements, with their prefix. `nil` before the root element.
    private var href: [UInt8]?
    /// True if the root is not `multistatus`. Nothing is changed then.
    private var isForeign = false

    /// The maximum number of kept bytes of a name or reference. The start of a longer reference is still rewritten.
    package static let longest = 4096

    package init(_ references: PublicReferences) {
        self.references = references
    }

    /// True if the content can be rewritten: XML without compression and without a digest (RFC 9530).
    ///
    /// - Parameter base: The bytes to which the head's slices refer.
    static func isReadable(_ head: ResponseHead, _ base: Bytes) -> Bool {
        guard head.status == 207, head.framing != .none else { return false }
        var isXML = false
        for index in 0..<head.fields.count {
            let name = head.fields[index].name.bytes(in: base)
            let value = head.fields[index].value.bytes(in: base)
            if ByteClass.equal(name, "content-type") {
                let type = UnsafeBufferPointer(
                    rebasing: value.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }
                )
                isXML = ByteClass.equal(type, "application/xml") || ByteClass.equal(type, "text/xml")
            }
            if ByteClass.equal(name, "content-encoding"), !ByteClass.equal(value, "identity") { return false }
            if Self.isDigest(name) { return false }
        }
        return isXML
    }

    /// True if fields with this name contain a digest of the content.
    static func isDigest(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        ByteClass.equal(name, "content-digest") || ByteClass.equal(name, "repr-digest")
            || ByteClass.equal(name, "digest") || ByteClass.equal(name, "content-md5")
    }

    /// Reads the next bytes of the content and appends the bytes for the client.
    package func read(_ bytes: UnsafeBufferPointer<UInt8>, into out: inout ByteBuffer) {
        guard !self.isForeign else { return _ = out.writeBytes(bytes) }
        // Bytes outside of references are copied in runs.
        var start = 0
        for index in 0..<bytes.count {
            let byte = bytes[index]
            self.last = self.last << 8 | UInt32(byte)
            switch self.state {
            case .text:
                if byte == UInt8(ascii: "<") { self.begin(.name) }
            case .name:
                self.readName(byte)
            case .attributes(let quote):
                self.readAttributes(byte, quote)
            case .opaque(let end, let mask):
                if self.last & mask == end { self.state = .text }
            case .reference:
                if byte == UInt8(ascii: "<") {
                    self.writeReference(to: &out)
                    self.begin(.name)
                    start = index
                } else {
                    self.collected.append(byte)
                    if self.collected.count >= Self.longest {
                        self.writeReference(to: &out)
                        self.state = .text
                    }
                    start = index + 1
                }
                continue
            }
            if case .reference = self.state {
                _ = out.writeBytes(UnsafeBufferPointer(rebasing: bytes[start...index]))
                start = index + 1
            }
        }
        if start < bytes.count { _ = out.writeBytes(UnsafeBufferPointer(rebasing: bytes[start...])) }
    }

    /// Appends the last reference if the content ends in it.
    package func end(into out: inout ByteBuffer) {
        if case .reference = self.state { self.writeReference(to: &out) }
        self.state = .text
    }

    private func begin(_ state: State) {
        self.state = state
        self.collected.removeAll(keepingCapacity: true)
    }

    private func readName(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: ">"), 0x20, 0x09, 0x0A, 0x0D:
            self.endName(byte)
        case UInt8(ascii: "/") where !self.collected.isEmpty:
            self.endName(byte)
        default:
            if self.collected.count < Self.longest { self.collected.append(byte) }
            if self.collected.first == UInt8(ascii: "?") {
                self.state = .opaque(end: 0x3F3E, mask: 0xFFFF)
            } else if self.collected.elementsEqual("!--".utf8) {
                self.last = 0
                self.state = .opaque(end: 0x2D2D3E, mask: 0xFF_FFFF)
            } else if self.collected.elementsEqual("![CDATA[".utf8) {
                self.last = 0
                self.state = .opaque(end: 0x5D5D3E, mask: 0xFF_FFFF)
            }
        }
    }

    private func endName(_ byte: UInt8) {
        self.state = .attributes(quote: 0)
        self.findRoot()
        self.readAttributes(byte, 0)
    }

    /// Sets the name of the href elements from the prefix of the root element.
    private func findRoot() {
        guard self.href == nil, self.collected.first != UInt8(ascii: "!") else { return }
        let root = Array("multistatus".utf8)
        let prefix = self.collected.dropLast(root.count)
        self.isForeign =
            !self.collected.suffix(root.count).elementsEqual(root) || (!prefix.isEmpty && prefix.last != 0x3A)
        self.href = prefix + Array("href".utf8)
    }

    private func readAttributes(_ byte: UInt8, _ quote: UInt8) {
        switch byte {
        case quote where quote != 0:
            self.state = .attributes(quote: 0)
        case UInt8(ascii: "\""), UInt8(ascii: "'"):
            if quote == 0 { self.state = .attributes(quote: byte) }
        case UInt8(ascii: ">") where quote == 0:
            // An empty element has no text.
            let isEmpty = self.last >> 8 & 0xFF == UInt32(UInt8(ascii: "/"))
            let isHref = !self.isForeign && !isEmpty && self.collected == self.href
            self.begin(isHref ? .reference : .text)
        default:
            break
        }
    }

    private func writeReference(to out: inout ByteBuffer) {
        self.collected.withUnsafeBufferPointer { text in
            let isBlank: (UInt8) -> Bool = { $0 <= 0x20 }
            let first = text.firstIndex { !isBlank($0) } ?? text.count
            let last = text[first...].lastIndex { !isBlank($0) }.map { $0 + 1 } ?? first
            out.append(atMost: text.count + self.references.growth) { writer in
                writer.write(UnsafeBufferPointer(rebasing: text[..<first]))
                self.references.write(UnsafeBufferPointer(rebasing: text[first..<last]), &writer)
                writer.write(UnsafeBufferPointer(rebasing: text[last...]))
            }
        }
    }
}
