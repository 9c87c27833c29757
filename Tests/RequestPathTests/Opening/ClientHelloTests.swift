import RequestPath
import Settings
import TestSupport
import Testing
import Vocabulary

@Suite("The first message of a client over TLS") struct ClientHelloTests {
    /// A message with these extensions, in records of so many bytes.
    static func hello(
        _ extensions: [(Int, [UInt8])],
        suites: [Int] = [0x1301],
        record: Int = 16_384
    ) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }
        let body =
            [3, 3] + [UInt8](repeating: 7, count: 32) + [0] + number(2 * suites.count, 2)
            + suites.flatMap { number($0, 2) } + [1, 0]
            + {
                let all = extensions.flatMap { number($0.0, 2) + number($0.1.count, 2) + $0.1 }
                return number(all.count, 2) + all
            }()
        let message = [1] + number(body.count, 3) + body
        return stride(from: 0, to: message.count, by: record).flatMap { start -> [UInt8] in
            let piece = message[start..<min(start + record, message.count)]
            return [22, 3, 1] + number(piece.count, 2) + piece
        }
    }

    static func name(_ text: String) -> (Int, [UInt8]) {
        let bytes = Array(text.utf8)
        return (0, [0, UInt8(bytes.count + 3), 0, 0, UInt8(bytes.count)] + bytes)
    }

    private static func protocols(_ names: [String]) -> (Int, [UInt8]) {
        let list = names.flatMap { [UInt8($0.utf8.count)] + $0.utf8 }
        return (16, [0, UInt8(list.count)] + list)
    }

    private static func read(_ bytes: [UInt8]) -> ClientHello.Reading {
        bytes.withUnsafeBytes { ClientHello.read($0) }
    }

    @Test("name, protocols and schemes are read, however the message is cut into records and pieces")
    func reading() throws {
        let extensions = [
            Self.name("WWW.Example.com."), Self.protocols(["h2", "http/1.1"]), (13, [0, 2, 0x08, 0x04] as [UInt8]),
        ]
        for record in [1, 2, 3, 50, 16_384] {
            let bytes = Self.hello(extensions, record: record)
            guard case .complete(let hello?) = Self.read(bytes) else {
                Issue.record("not read in records of \(record)")
                continue
            }
            #expect(hello.serverName == "www.example.com")
            #expect(hello.protocols == ["h2", "http/1.1"])
            #expect(!hello.takes(Self.certificate("P-256")))
            for count in 0..<bytes.count {
                #expect(Self.read(Array(bytes[..<count])) == .incomplete, "\(count) of \(bytes.count)")
            }
            // What follows is not its part.
            #expect(Self.read(bytes + [23, 3, 3, 0, 1, 0]) == .complete(hello))
        }
    }

    /// The facts of a certificate with such a key.
    private static func certificate(_ key: String) -> CertificateFacts {
        let epoch = UnixTime(milliseconds: 0)
        return CertificateFacts(names: ["a.example"], from: epoch, until: epoch, key: key, isECDSA: key.hasPrefix("P"))
    }

    private static func list(_ kind: Int, _ values: [Int]) -> (Int, [UInt8]) {
        (kind, [0, UInt8(2 * values.count)] + values.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
    }

    private static let tls13: (Int, [UInt8]) = (43, [4, 3, 4, 3, 3])
    /// Of OpenSSL.
    private static let allSchemes = list(13, [0x0403, 0x0503, 0x0603, 0x0804, 0x0805, 0x0401, 0x0501])

    /// suites, extensions, and the keys of the certificates that such a client can verify.
    static let clients: [(String, [Int], [(Int, [UInt8])], [String])] = [
        ("TLS 1.3", [0x1301], [tls13, allSchemes], ["P-256", "P-384", "P-521", "RSA-2048"]),
        (
            "TLS 1.3, suites of RSA beside", [0x1301, 0xC02F], [tls13, allSchemes],
            ["P-256", "P-384", "P-521", "RSA-2048"]
        ),
        ("TLS 1.3, RSA only", [0x1301], [tls13, list(13, [0x0804])], ["RSA-2048"]),
        ("TLS 1.3, PKCS #1 only", [0x1301], [tls13, list(13, [0x0401, 0x0403])], ["P-256"]),
        ("TLS 1.3, P-384 only", [0x1301], [tls13, list(13, [0x0503])], ["P-384"]),
        ("TLS 1.2, suites of RSA", [0xC02F, 0xC030], [allSchemes], ["RSA-2048"]),
        ("TLS 1.2, suites of ECDSA", [0xC02B], [allSchemes], ["P-256", "P-384", "P-521"]),
        ("TLS 1.2, both", [0xCCA8, 0xCCA9], [allSchemes], ["P-256", "P-384", "P-521", "RSA-2048"]),
        ("TLS 1.2, both, schemes of RSA", [0xC02C, 0xC030], [list(13, [0x0401])], ["RSA-2048"]),
        ("TLS 1.2, one curve", [0xC02B, 0xC02F], [allSchemes, list(10, [24, 29])], ["P-384", "RSA-2048"]),
        ("TLS 1.2, no schemes", [0xC02B], [], ["P-256", "P-384", "P-521"]),
        ("TLS 1.2, suites that we have not", [0x009C], [allSchemes], []),
    ]

    @Test(
        "a certificate is one that the client can verify: by its schemes, and before TLS 1.3 by its suites and curves"
    )
    func verifying() throws {
        for (name, suites, extensions, keys) in Self.clients {
            guard case .complete(let hello?) = Self.read(Self.hello(extensions, suites: suites)) else {
                Issue.record("not read: \(name)")
                continue
            }
            for key in ["P-256", "P-384", "P-521", "RSA-2048"] {
                #expect(hello.takes(Self.certificate(key)) == keys.contains(key), "\(name): \(key)")
            }
        }
    }

    @Test("bytes that are no handshake are told apart: HTTP gets a sentence, others nothing")
    func others() {
        #expect(Self.read(Array("GET / HTTP/1.1\r\n\r\n".utf8)) == .plainHTTP)
        #expect(Self.read(Array("P".utf8)) == .plainHTTP)
        for first: UInt8 in [0, 20, 21, 23, 0x80, 0xFF, 0x0D] { #expect(Self.read([first, 3, 1]) == .foreign) }
        #expect(Self.read([]) == .incomplete)
    }

    @Test("a damaged message is left to the library, and nothing traps or is read beyond its end")
    func damaged() {
        var seed = SeededNumbers(seed: 36)
        let whole = Self.hello([Self.name("a.example"), Self.protocols(["http/1.1"])])
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0...Int.random(in: 0..<4, using: &seed) {
                bytes[Int.random(in: 0..<bytes.count, using: &seed)] = UInt8.random(in: 0...255, using: &seed)
            }
            if Bool.random(using: &seed) { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &seed)) }
            _ = Self.read(bytes)
        }
        // Longer than the library takes, and never whole.
        #expect(Self.read([22, 3, 1, 0, 4, 1, 0, 0x40, 1]) == .complete(nil))
        #expect(Self.read([22, 3, 1, 0x40, 1]) == .complete(nil))
        #expect(Self.read([22, 3, 1, 0, 0]) == .complete(nil))
        let crumbs =
            [UInt8](([22, 3, 1, 0, 1, 1] as [UInt8]))
            + (0..<3).flatMap { [22, 3, 1, 0, 1, $0 == 1 ? 0x40 : 0] as [UInt8] }
        let endless = crumbs + (0..<5500).flatMap { _ in [22, 3, 1, 0, 1, 0] as [UInt8] }
        #expect(endless.count > ClientHello.most)
        #expect(Self.read(endless) == .complete(nil))
    }

    @Test("a name with other characters than those of names is none")
    func names() {
        for text in ["a b.example", "a\u{0}.example", "m\u{FC}nchen.example", ""] {
            guard case .complete(let hello?) = Self.read(Self.hello([Self.name(text)])) else {
                Issue.record("not read: \(text)")
                continue
            }
            #expect(hello.serverName == nil, "\(text)")
        }
    }
}
