/// A name from a certificate (`subjectAltName`, RFC 5280 4.2.1.6), normalised for comparison: an email address, a DNS
/// name, or a URI such as a SPIFFE ID.
///
/// A name with `:` is a URI, any other name with `@` is an email address, and all others are DNS names. If the
/// certificate declares another kind, the name is rejected. A DNS name is therefore never read as an email address.
package struct CertificateName: Hashable, Sendable {
    /// The kinds of names that rules can compare.
    package enum Kind: Sendable {
        case dns
        case email
        case uri
    }

    /// The name in visible ASCII characters. DNS names and the domains of email addresses are in lower case (RFC 5280
    /// 7.2, 7.5).
    package let text: String

    /// The maximum length in bytes.
    private static let longest = 2048

    /// Reads a name from a certificate; `nil` if the bytes are not a name of the declared kind.
    package init?(_ kind: Kind, _ bytes: some Collection<UInt8>) {
        guard let name = CertificateName(bytes), name.kind == kind else { return nil }
        self = name
    }

    /// Reads a name from the configuration; `nil` if the text is not a name of any kind.
    package init?(_ text: String) {
        self.init(text.utf8)
    }

    private init?(_ bytes: some Collection<UInt8>) {
        guard (1...Self.longest).contains(bytes.count), bytes.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        switch Self.kind(of: text) {
        case .dns:
            self.text = text.lowercased()
        case .email:
            guard let at = text.lastIndex(of: "@"), at > text.startIndex, text.index(after: at) < text.endIndex else {
                return nil
            }
            self.text = text[..<at] + text[at...].lowercased()
        case .uri:
            guard text.first != ":" else { return nil }
            self.text = text
        }
    }

    /// The kind of the name, determined by its characters.
    package var kind: Kind { Self.kind(of: self.text) }

    private static func kind(of text: String) -> Kind {
        if text.utf8.contains(UInt8(ascii: ":")) { return .uri }
        return text.utf8.contains(UInt8(ascii: "@")) ? .email : .dns
    }
}
