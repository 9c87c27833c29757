/// The first message of a client in a handshake of TLS (RFC 8446 4.1.2), as far as the choice of a certificate needs it.
///
/// The library of TLS reads the same bytes again and judges them. What this reader takes for another name than the library
/// does changes only which certificate is shown.
package struct ClientHello: Equatable, Sendable {
    package enum Reading: Equatable, Sendable {
        /// More bytes decide.
        case incomplete
        /// The bytes begin like a request of HTTP.
        case plainHTTP
        /// The bytes begin no handshake.
        case foreign
        /// The message is whole; nil: it is not a client's first one, or is damaged.
        case complete(ClientHello?)
    }

    /// The name that the client asks for (RFC 6066 3), in lower case without a trailing dot, at most 255 bytes; nil: none.
    package private(set) var serverName: String?
    /// The protocols that it speaks (RFC 7301); nil: it does not say.
    package private(set) var protocols: [String]?
    /// Whether it verifies ECDSA.
    package private(set) var takesECDSA = true

    /// The most bytes of the message: the library takes no more.
    package static let longest = 16_384
    /// The most bytes before the message is whole. A client may cut it into records of one byte.
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

    /// nil: the message is damaged.
    private init?(_ message: HelloReader) {
        var message = message
        // Version, random, session id, suites, compression.
        guard message.skip(34), message.vector(1) != nil, message.vector(2) != nil, message.vector(1) != nil else {
            return nil
        }
        if message.isAtEnd { return }
        guard var extensions = message.vector(2), message.isAtEnd else { return nil }
        while !extensions.isAtEnd {
            guard let kind = extensions.number(2), let content = extensions.vector(2) else { return nil }
            switch kind {
            case 0: self.serverName = Self.name(content)
            case 13: self.takesECDSA = Self.hasECDSA(content)
            case 16: self.protocols = Self.protocols(content)
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

    /// The schemes of ECDSA with the curves of NIST (RFC 8446 4.2.3).
    private static func hasECDSA(_ content: HelloReader) -> Bool {
        var content = content
        guard var list = content.vector(2) else { return true }
        while let scheme = list.number(2) {
            if [0x0403, 0x0503, 0x0603].contains(scheme) { return true }
        }
        return false
    }

    private static func protocols(_ content: HelloReader) -> [String]? {
        var content = content
        guard var list = content.vector(2) else { return nil }
        var found: [String] = []
        while let name = list.vector(1) { found.append(String(decoding: name.rest, as: UTF8.self)) }
        return found
    }
}

/// Reads numbers and vectors of TLS (RFC 8446 3) from the front of bytes.
struct HelloReader: Sendable {
    /// What was not read yet.
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

    /// A number of so many bytes; nil: there are fewer.
    mutating func number(_ count: Int) -> Int? {
        guard count <= self.rest.count else { return nil }
        let value = self.rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
        self.rest = self.rest.dropFirst(count)
        return value
    }

    /// Bytes behind their number, which has so many bytes; nil: there are fewer.
    mutating func vector(_ lengthCount: Int) -> HelloReader? {
        var copy = self
        guard let count = copy.number(lengthCount), count <= copy.rest.count else { return nil }
        self.rest = copy.rest.dropFirst(count)
        return HelloReader(copy.rest.prefix(count))
    }
}
