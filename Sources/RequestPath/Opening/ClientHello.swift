package import Settings

/// The first message of a client's TLS handshake (RFC 8446 4.1.2), as far as it affects the choice of a certificate.
///
/// The TLS library validates the bytes again. An error here can only affect the choice of the certificate, or refuse a
/// client.
package struct ClientHello: Equatable, Sendable {
    package enum Reading: Equatable, Sendable {
        /// More bytes are needed.
        case incomplete
        /// The bytes begin like an HTTP request.
        case plainHTTP
        /// The bytes do not begin a handshake.
        case foreign
        /// The message is complete. `nil` if it is damaged, too long, or not a client's first message.
        case complete(ClientHello?)
    }

    /// The requested name (RFC 6066 3), in lower case, without a trailing dot, up to 255 bytes. `nil` if missing or
    /// invalid.
    package private(set) var serverName: String?
    /// The protocols that the client offers (RFC 7301). `nil` if the client offers none.
    package private(set) var protocols: [String]?
    private var abilities = Abilities()

    /// The client's stated abilities to verify a server and to agree on keys.
    private struct Abilities: OptionSet {
        let rawValue: UInt16

        static let tls13 = Abilities(rawValue: 1 << 0)
        /// The client offers one of the gateway's TLS 1.2 suites for ECDSA keys.
        static let suitesECDSA = Abilities(rawValue: 1 << 1)
        static let suitesRSA = Abilities(rawValue: 1 << 2)
        /// The client lists signature schemes.
        static let schemes = Abilities(rawValue: 1 << 3)
        static let schemeP256 = Abilities(rawValue: 1 << 4)
        static let schemeP384 = Abilities(rawValue: 1 << 5)
        static let schemeP521 = Abilities(rawValue: 1 << 6)
        static let schemePSS = Abilities(rawValue: 1 << 7)
        static let schemePKCS1 = Abilities(rawValue: 1 << 8)
        /// The client lists groups.
        static let groups = Abilities(rawValue: 1 << 9)
        static let groupP256 = Abilities(rawValue: 1 << 10)
        static let groupP384 = Abilities(rawValue: 1 << 11)
        static let groupP521 = Abilities(rawValue: 1 << 12)

        static let schemesECDSA: Abilities = [.schemeP256, .schemeP384, .schemeP521]
        static let schemesRSA: Abilities = [.schemePSS, .schemePKCS1]
    }

    /// The maximum length of the message in bytes. The TLS library has the same limit.
    package static let longest = 16_384
    /// The maximum number of bytes before the message is complete. A client may split the message into small records.
    package static let most = 32_768

    private static let handshakeRecord: UInt8 = 22
    private static let clientHello: UInt8 = 1

    /// Reads the message at the front of `bytes`.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard let first = bytes.first else { return .incomplete }
        guard first == Self.handshakeRecord else {
            return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) ? .plainHTTP : .foreign
        }
        var message: [UInt8] = []
        var index = 0
        while true {
            if message.count >= 4 {
                let count = Int(message[1]) << 16 | Int(message[2]) << 8 | Int(message[3])
                guard message[0] == Self.clientHello, count <= Self.longest else { return .complete(nil) }
                if message.count >= 4 + count {
                    return .complete(ClientHello(HelloReader(message[4..<(4 + count)])))
                }
            }
            guard index + 5 <= bytes.count else { break }
            let count = Int(bytes[index + 3]) << 8 | Int(bytes[index + 4])
            guard bytes[index] == Self.handshakeRecord, bytes[index + 1] == 3, (1...Self.longest).contains(count) else {
                return .complete(nil)
            }
            let end = index + 5 + count
            message.append(contentsOf: bytes[(index + 5)..<min(end, bytes.count)])
            guard end <= bytes.count else { break }
            index = end
        }
        return bytes.count > Self.most ? .complete(nil) : .incomplete
    }

    /// Reads a message. Returns `nil` if the message is damaged.
    private init?(_ message: HelloReader) {
        var message = message
        // Version, random, session id, suites, compression.
        guard message.skip(34), message.vector(1) != nil, let suites = message.vector(2), message.vector(1) != nil
        else {
            return nil
        }
        self.noteSuites(suites)
        if message.isAtEnd { return }
        guard var extensions = message.vector(2), message.isAtEnd else { return nil }
        while !extensions.isAtEnd {
            guard let kind = extensions.number(2), let content = extensions.vector(2) else { return nil }
            switch kind {
            case 0: self.serverName = Self.name(content)
            case 10: self.noteGroups(content)
            case 13: self.noteSchemes(content)
            case 16: self.protocols = Self.protocols(content)
            case 43: self.noteVersions(content)
            default: break
            }
        }
    }

    private static func name(_ content: HelloReader) -> String? {
        var content = content
        guard var list = content.vector(2), list.number(1) == 0, let name = list.vector(2)?.rest else { return nil }
        let bytes = name.last == UInt8(ascii: ".") ? name.dropLast() : name
        guard (1...255).contains(bytes.count), bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }

    /// Records which of the gateway's TLS 1.2 suites the client offers (RFC 5289, RFC 7905).
    private mutating func noteSuites(_ list: HelloReader) {
        list.forEachPair { suite in
            switch suite {
            case 0xC02B, 0xC02C, 0xCCA9: self.abilities.insert(.suitesECDSA)
            case 0xC02F, 0xC030, 0xCCA8: self.abilities.insert(.suitesRSA)
            default: break
            }
        }
    }

    /// Records signature schemes (RFC 8446 4.2.3).
    private mutating func noteSchemes(_ content: HelloReader) {
        var content = content
        guard let list = content.vector(2) else { return }
        self.abilities.insert(.schemes)
        list.forEachPair { scheme in
            switch scheme {
            case 0x0403: self.abilities.insert(.schemeP256)
            case 0x0503: self.abilities.insert(.schemeP384)
            case 0x0603: self.abilities.insert(.schemeP521)
            case 0x0804, 0x0805, 0x0806: self.abilities.insert(.schemePSS)
            case 0x0401, 0x0501, 0x0601: self.abilities.insert(.schemePKCS1)
            default: break
            }
        }
    }

    /// Records groups (RFC 8446 4.2.7).
    private mutating func noteGroups(_ content: HelloReader) {
        var content = content
        guard let list = content.vector(2) else { return }
        self.abilities.insert(.groups)
        list.forEachPair { group in
            switch group {
            case 23: self.abilities.insert(.groupP256)
            case 24: self.abilities.insert(.groupP384)
            case 25: self.abilities.insert(.groupP521)
            default: break
            }
        }
    }

    /// Records whether the client supports TLS 1.3 (RFC 8446 4.2.1).
    private mutating func noteVersions(_ content: HelloReader) {
        var content = content
        guard let list = content.vector(1) else { return }
        list.forEachPair { version in if version == 0x0304 { self.abilities.insert(.tls13) } }
    }

    /// Returns whether the client can verify a server with this certificate. In TLS 1.3, signature schemes decide. In
    /// earlier versions, suites and groups decide, too (RFC 8422 5.1).
    package func takes(_ certificate: CertificateFacts) -> Bool {
        let isTLS13 = self.abilities.contains(.tls13)
        guard certificate.isECDSA else {
            guard isTLS13 || self.abilities.contains(.suitesRSA) else { return false }
            return self.hasAny(of: isTLS13 ? .schemePSS : .schemesRSA, named: .schemes)
        }
        let (scheme, group): (Abilities, Abilities) =
            switch certificate.key {
            case "P-256": (.schemeP256, .groupP256)
            case "P-384": (.schemeP384, .groupP384)
            default: (.schemeP521, .groupP521)
            }
        if isTLS13 { return self.hasAny(of: scheme, named: .schemes) }
        return self.abilities.contains(.suitesECDSA) && self.hasAny(of: .schemesECDSA, named: .schemes)
            && self.hasAny(of: group, named: .groups)
    }

    /// Returns whether the client has one of the wanted abilities. Also true if the client sends no list of this kind.
    private func hasAny(of wanted: Abilities, named kind: Abilities) -> Bool {
        !self.abilities.contains(kind) || !self.abilities.isDisjoint(with: wanted)
    }

    private static func protocols(_ content: HelloReader) -> [String]? {
        var content = content
        guard var list = content.vector(2) else { return nil }
        var found: [String] = []
        while let name = list.vector(1) { found.append(String(decoding: name.rest, as: UTF8.self)) }
        return found
    }
}

/// Reads TLS numbers and vectors (RFC 8446 3) from the front of a sequence of bytes.
struct HelloReader: Sendable {
    /// The bytes that have not been read yet.
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.rest = bytes
    }

    var isAtEnd: Bool { self.rest.isEmpty }

    mutating func skip(_ count: Int) -> Bool {
        guard count <= self.rest.count else { return false }
        self.rest = self.rest.dropFirst(count)
        return true
    }

    /// Reads a number of `count` bytes. Returns `nil` if fewer bytes remain.
    mutating func number(_ count: Int) -> Int? {
        guard count <= self.rest.count else { return nil }
        let value = self.rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
        self.rest = self.rest.dropFirst(count)
        return value
    }

    /// Calls `body` with each remaining two-byte number.
    func forEachPair(_ body: (Int) -> Void) {
        self.rest.withUnsafeBufferPointer { bytes in
            for index in stride(from: 0, to: bytes.count - 1, by: 2) {
                body(Int(bytes[index]) << 8 | Int(bytes[index + 1]))
            }
        }
    }

    /// Reads a vector: its length in `lengthCount` bytes, then its content. Returns `nil` if bytes are missing.
    mutating func vector(_ lengthCount: Int) -> HelloReader? {
        var copy = self
        guard let count = copy.number(lengthCount), count <= copy.rest.count else { return nil }
        self.rest = copy.rest.dropFirst(count)
        return HelloReader(copy.rest.prefix(count))
    }
}
