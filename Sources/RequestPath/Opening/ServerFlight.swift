import NIOCore

/// The parameters agreed in a TLS handshake, read from the gateway's outgoing messages because the TLS library does not
/// report them. The ServerHello, and in TLS 1.2 the ServerKeyExchange, are not encrypted.
struct ServerFlight: Equatable {
    private(set) var suite: Int?
    private(set) var group: Int?
    private(set) var isTLS13 = false
    /// Whether the handshake resumes a session.
    var isResumed: Bool { self.isTLS13 ? self.hasPSK : self.suite != nil && !self.hasCertificate }

    private var hasPSK = false
    private var hasCertificate = false
    private var isEncrypted = false

    /// Reads the next outgoing bytes, which consist of complete TLS records.
    mutating func read(_ bytes: ByteBuffer) {
        var reader = HelloReader(ArraySlice(bytes.readableBytesView))
        while !self.isEncrypted, let kind = reader.number(1), reader.skip(2), let record = reader.vector(2) {
            switch kind {
            case 22: self.readMessages(record)
            case 21: break
            // In TLS 1.3, a ChangeCipherSpec has no meaning. It may come before the ServerHello (RFC 8446 D.4).
            case 20 where self.isTLS13: break
            // A ChangeCipherSpec or encrypted data ends the part that is read.
            default: self.isEncrypted = true
            }
        }
    }

    private mutating func readMessages(_ record: HelloReader) {
        var record = record
        while let kind = record.number(1), let message = record.vector(3) {
            switch kind {
            case 2: self.readHello(message)
            case 11: self.hasCertificate = true
            case 12: self.readKeyExchange(message)
            default: break
            }
        }
    }

    /// Reads a ServerHello or a HelloRetryRequest. Both have the same suite, version and group (RFC 8446 4.1.4).
    private mutating func readHello(_ message: HelloReader) {
        var message = message
        guard message.skip(34), message.vector(1) != nil, let suite = message.number(2), message.skip(1) else { return }
        self.suite = suite
        guard var extensions = message.vector(2) else { return }
        while let kind = extensions.number(2), var content = extensions.vector(2) {
            switch kind {
            case 41: self.hasPSK = true
            case 43: self.isTLS13 = content.number(2) == 0x0304
            case 51: self.group = content.number(2)
            default: break
            }
        }
    }

    /// Reads the named curve of a ServerKeyExchange (RFC 8422 5.4).
    private mutating func readKeyExchange(_ message: HelloReader) {
        var message = message
        if message.number(1) == 3 { self.group = message.number(2) }
    }

    /// The IANA name of the cipher suite, or its number in hexadecimal if the gateway does not know the name.
    var suiteName: String {
        switch self.suite {
        case 0x1301: "TLS_AES_128_GCM_SHA256"
        case 0x1302: "TLS_AES_256_GCM_SHA384"
        case 0x1303: "TLS_CHACHA20_POLY1305_SHA256"
        case 0xC02B: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
        case 0xC02C: "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
        case 0xC02F: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
        case 0xC030: "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
        case 0xCCA8: "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"
        case 0xCCA9: "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
        case let other?: "0x\(String(other, radix: 16))"
        case nil: "unknown"
        }
    }

    /// The name of the key exchange's group. `nil` without a key exchange, as in a resumed TLS 1.2 session.
    var groupName: String? {
        switch self.group {
        case 0x11EC: "X25519MLKEM768"
        case 0x001D: "X25519"
        case 0x0017: "P-256"
        case 0x0018: "P-384"
        case 0x0019: "P-521"
        case let other?: "0x\(String(other, radix: 16))"
        case nil: nil
        }
    }
}
