/// Writes certificates in DER (RFC 5280), also such as no authority issues: nothing is checked, and nobody signed them.
package struct CertificateBytes {
    /// Elements of a name: the last number of the attribute's id under 2.5.4 (3: `CN`, 10: `O`), the tag of the string, and
    /// its bytes.
    package var subject: [(attribute: UInt8, tag: UInt8, value: [UInt8])] = []
    package var issuer: [(attribute: UInt8, tag: UInt8, value: [UInt8])] = []
    package var serial: [UInt8] = [1]
    /// The tag and the bytes of each alternative name. nil: there is no such extension.
    package var names: [(tag: UInt8, value: [UInt8])]?
    /// Extensions after the alternative names, in DER.
    package var otherExtensions: [[UInt8]] = []
    package var notAfter = "491231235959Z"

    /// Tags of alternative names.
    package static let email: UInt8 = 0x81
    package static let dns: UInt8 = 0x82
    package static let uri: UInt8 = 0x86
    package static let address: UInt8 = 0x87
    package static let otherName: UInt8 = 0xA0

    /// A certificate of a client with a common name and these alternative names.
    package init(_ commonName: String, names: [(tag: UInt8, value: String)] = []) {
        self.subject = [(3, 0x0C, Array(commonName.utf8))]
        self.issuer = [(10, 0x0C, Array("Test Authority".utf8)), (3, 0x0C, Array("Clients".utf8))]
        self.names = names.isEmpty ? nil : names.map { ($0.tag, Array($0.value.utf8)) }
    }

    /// An element of DER: tag, length, contents.
    package static func element(_ tag: UInt8, _ contents: [UInt8]...) -> [UInt8] {
        let contents = contents.flatMap { $0 }
        guard contents.count > 127 else { return [tag, UInt8(contents.count)] + contents }
        var length: [UInt8] = []
        var rest = contents.count
        while rest > 0 {
            length.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + contents
    }

    /// The extension for alternative names.
    package static func alternativeNames(_ names: [(tag: UInt8, value: [UInt8])]) -> [UInt8] {
        let list = Self.element(0x30, names.flatMap { Self.element($0.tag, $0.value) })
        return Self.element(0x30, [0x06, 0x03, 0x55, 0x1D, 0x11], Self.element(0x04, list))
    }

    private static func name(_ parts: [(attribute: UInt8, tag: UInt8, value: [UInt8])]) -> [UInt8] {
        Self.element(
            0x30,
            parts.flatMap { part in
                let type: [UInt8] = [0x06, 0x03, 0x55, 0x04, part.attribute]
                return Self.element(0x31, Self.element(0x30, type, Self.element(part.tag, part.value)))
            }
        )
    }

    /// The certificate.
    package var der: [UInt8] {
        let ed25519: [UInt8] = [0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70]
        let extensions = (self.names.map { [Self.alternativeNames($0)] } ?? []) + self.otherExtensions
        let signed = Self.element(
            0x30,
            [0xA0, 0x03, 0x02, 0x01, 0x02],
            Self.element(0x02, self.serial),
            ed25519,
            Self.name(self.issuer),
            Self.element(
                0x30,
                Self.element(0x17, Array("200101000000Z".utf8)),
                Self.element(0x17, Array(self.notAfter.utf8))
            ),
            Self.name(self.subject),
            Self.element(0x30, ed25519, Self.element(0x03, [UInt8](repeating: 0, count: 33))),
            extensions.isEmpty ? [] : Self.element(0xA3, Self.element(0x30, extensions.flatMap { $0 }))
        )
        return Self.element(0x30, signed, ed25519, Self.element(0x03, [UInt8](repeating: 0, count: 65)))
    }
}
