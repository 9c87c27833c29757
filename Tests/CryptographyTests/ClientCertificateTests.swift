import Cryptography
import TestSupport
import Testing
import Vocabulary

@Suite("A client's certificate")
struct ClientCertificateTests {
    @Test("Names are read as RFC 4514 writes them, with number, time, alternative names and the hash of all bytes")
    func ordinary() throws {
        var bytes = CertificateBytes(
            "Jörg, Build",
            names: [
                (CertificateBytes.dns, "CI.Example.com"), (CertificateBytes.email, "Ops@Example.COM"),
                (CertificateBytes.uri, "spiffe://cluster.local/ns/prod/sa/Build"),
                (CertificateBytes.dns, "ci.example.com"),
            ]
        )
        bytes.serial = [0x00, 0x9A, 0x0B]
        let certificate = try #require(ClientCertificate(der: bytes.der))
        #expect(certificate.subject == #"CN=J\C3\B6rg\, Build"#)
        #expect(certificate.issuer == "CN=Clients,O=Test Authority")
        #expect(certificate.serial == "9a0b")
        #expect(
            certificate.names.map(\.text) == [
                "ci.example.com", "Ops@example.com", "spiffe://cluster.local/ns/prod/sa/Build",
            ]
        )
        #expect(certificate.names.map(\.kind) == [.dns, .email, .uri])
        #expect(certificate.sha256 == SHA256.digest(bytes.der))
        #expect(certificate.notAfter == UnixTime(seconds: 2_524_607_999))
    }

    @Test("A certificate without a subject or without alternative names is one all the same")
    func bare() throws {
        var bytes = CertificateBytes("client")
        #expect(try #require(ClientCertificate(der: bytes.der)).names.isEmpty)
        bytes.subject = []
        bytes.names = []
        bytes.serial = [0]
        let certificate = ClientCertificate(der: bytes.der)
        // An empty list of names breaks RFC 5280, but says nothing that could be misread.
        #expect(certificate == nil || certificate?.subject == "" && certificate?.serial == "0")
    }

    @Test("Names of other kinds, and those with characters that their kind cannot have, name nobody")
    func oddNames() throws {
        var bytes = CertificateBytes("client")
        let otherName =
            [0x06, 0x03, 0x2A, 0x03, 0x04]
            + CertificateBytes.element(0xA0, CertificateBytes.element(0x0C, Array("a@b.c".utf8)))
        bytes.names = [
            (CertificateBytes.dns, Array("good.example\0.evil.example".utf8)),
            (CertificateBytes.dns, Array("ops@example.com".utf8)), (CertificateBytes.dns, Array("spiffe://a/b".utf8)),
            (CertificateBytes.dns, []), (CertificateBytes.dns, Array("with space.example".utf8)),
            (CertificateBytes.email, Array("nobody".utf8)), (CertificateBytes.email, Array("@example.com".utf8)),
            (CertificateBytes.email, Array("a@b\r\nX: y".utf8)), (CertificateBytes.uri, Array("host.example".utf8)),
            (CertificateBytes.uri, [0xC3, 0xA4, 0x3A]), (CertificateBytes.address, [127, 0, 0, 1]),
            (CertificateBytes.otherName, otherName), (CertificateBytes.dns, Array("kept.example".utf8)),
        ]
        #expect(try #require(ClientCertificate(der: bytes.der)).names.map(\.text) == ["kept.example"])
    }

    @Test(
        "Every kind of string in a subject becomes visible ASCII",
        arguments: [
            (UInt8(0x0C), Array("a\0b\r\n".utf8), #"CN=a\00b\0D\0A"#),
            (0x1E, [0x00, 0x61, 0x20, 0xAC], #"CN=a\E2\82\AC"#),
            (0x13, Array("+a;b".utf8), #"CN=\+a\;b"#), (0x14, [0xE4], #"CN=\C3\A4"#),
            (0x1C, [0, 1, 0xF6, 0], #"CN=\F0\9F\98\80"#), (0x03, [0, 1], "CN=#03020001"), (0x0C, [], "CN="),
        ] as [(UInt8, [UInt8], String)]
    )
    func strings(tag: UInt8, value: [UInt8], text: String) throws {
        var bytes = CertificateBytes("client")
        bytes.subject = [(3, tag, value)]
        #expect(try #require(ClientCertificate(der: bytes.der)).subject == text)
    }

    @Test("A certificate is read whole or not at all")
    func refused() {
        let good = CertificateBytes("client", names: [(CertificateBytes.dns, "a.example")])
        #expect(ClientCertificate(der: good.der) != nil)
        #expect(ClientCertificate(der: []) == nil)
        #expect(ClientCertificate(der: good.der + [0]) == nil)
        #expect(ClientCertificate(der: good.der.dropLast()) == nil)

        func isRefused(_ change: (inout CertificateBytes) -> Void) -> Bool {
            var bytes = good
            change(&bytes)
            return ClientCertificate(der: bytes.der) == nil
        }
        #expect(isRefused { $0.names = (0..<5000).map { (CertificateBytes.dns, Array("n\($0).example".utf8)) } })
        #expect(!isRefused { $0.names = (0..<5000).map { _ in (CertificateBytes.dns, Array("n.example".utf8)) } })
        #expect(isRefused { $0.subject = [(3, 0x0C, [UInt8](repeating: 0x61, count: 5000))] })
        #expect(isRefused { $0.subject = [(3, 0x0C, [0xFF, 0xFE])] })
        #expect(isRefused { $0.serial = [UInt8](repeating: 0x7F, count: 1000) })
        #expect(isRefused { $0.notAfter = "yesterday" })
        // Two lists, or one that is none.
        #expect(
            isRefused { $0.otherExtensions = [CertificateBytes.alternativeNames([(CertificateBytes.dns, [0x62])])] }
        )
        #expect(
            isRefused {
                $0.names = nil
                let list = CertificateBytes.element(0x04, [0x30, 0x05, 0x82])
                $0.otherExtensions = [CertificateBytes.element(0x30, [0x06, 0x03, 0x55, 0x1D, 0x11], list)]
            }
        )
        #expect(
            isRefused { $0.otherExtensions = [[UInt8]](repeating: [UInt8](repeating: 0x30, count: 7000), count: 10) }
        )
    }

    @Test("Whatever is changed in a certificate, it is refused or read as visible text within the limits")
    func changed() {
        var numbers = SeededNumbers(seed: 36)
        var bytes = CertificateBytes(
            "client",
            names: [
                (CertificateBytes.dns, "a.example"), (CertificateBytes.email, "a@b.example"),
                (CertificateBytes.uri, "spiffe://a/b"),
            ]
        )
        bytes.subject += [(10, 0x1E, [0x00, 0x61]), (11, 0x13, Array("unit".utf8)), (5, 0x1C, [0, 0, 0, 0x62])]
        bytes.names?.append((CertificateBytes.otherName, [0x06, 0x03, 0x2A, 0x03, 0x04, 0xA0, 0x02, 0x05, 0x00]))
        let good = bytes.der
        var accepted = 0
        for _ in 0..<40_000 {
            var der = good
            for _ in 0...Int.random(in: 0..<3, using: &numbers) {
                let place = Int.random(in: der.indices, using: &numbers)
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0: der[place] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
                case 1: der[place] = UInt8.random(in: .min ... .max, using: &numbers)
                case 2: der.insert(UInt8.random(in: .min ... .max, using: &numbers), at: place)
                default: der.remove(at: place)
                }
            }
            guard let certificate = ClientCertificate(der: der) else { continue }
            accepted += 1
            let texts = [certificate.subject, certificate.issuer, certificate.serial] + certificate.names.map(\.text)
            #expect(texts.allSatisfy { $0.utf8.allSatisfy { (0x20..<0x7F).contains($0) } })
            #expect(texts.allSatisfy { $0.utf8.count <= ClientCertificate.longestText })
            #expect(certificate.names.allSatisfy { CertificateName($0.text) == $0 })
        }
        // Most changes break the structure; those of letters do not.
        #expect(accepted > 1000)
    }
}
