package import AddressIntelligence

/// The header of the PROXY protocol, version 1 or 2. A proxy sends it before the client's bytes (HAProxy,
/// `doc/proxy-protocol.txt`). Each version begins with a signature that distinguishes it from other protocols.
package struct ProxyPreamble: Equatable, Sendable {
    package enum Reading: Equatable, Sendable {
        /// More bytes are needed.
        case incomplete
        /// The bytes are not a header, or are a header that this reader does not accept.
        case malformed
        case complete(ProxyPreamble)
    }

    /// The client that the header reports.
    package enum Meaning: Equatable, Sendable {
        /// The client is the proxy itself, or is unknown. The peer's address is used as the client's address.
        case local
        /// The addresses of the client's connection to the proxy.
        case proxied(source: Endpoint, destination: Endpoint)
    }

    package struct Endpoint: Equatable, Sendable {
        package let address: IPAddress
        package let port: UInt16

        package init(_ address: IPAddress, port: UInt16) {
            self.address = address
            self.port = port
        }

        /// Whether a client can have this address and port. Some proxies send zeros for "not known".
        package var canBeClient: Bool { self.address.canBeClient && self.port != 0 }
    }

    /// The version of the header: 1 or 2.
    package let version: UInt8
    package let meaning: Meaning
    /// The additional values (TLVs) of a version 2 header.
    package var values = ProxyValues()
    /// The length of the header in bytes.
    package let byteCount: Int

    /// The maximum length of a version 1 header in bytes, including its line end.
    static let longestLine = 107
    /// The maximum accepted length of a version 2 header after its first 16 bytes. The length field allows 65,535.
    static let longestBlock = 4096
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    static let word = Array("PROXY ".utf8)
    private static let fixedCount = 16

    /// Whether `bytes` begin with the signature of either version. No request with a registered HTTP method does.
    package static func resembles(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.starts(with: self.signature) || bytes.starts(with: self.word)
    }

    /// Reads the header at the start of `bytes`.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard let first = bytes.first else { return .incomplete }
        return first == self.signature[0] ? self.readBinary(bytes) : self.readLine(bytes)
    }

    // MARK: Version 1

    private static func readLine(_ bytes: UnsafeRawBufferPointer) -> Reading {
        let start = bytes.prefix(self.word.count)
        guard self.word.starts(with: start) else { return .malformed }
        let line = bytes.prefix(self.longestLine)
        guard let end = line.firstIndex(of: 0x0D), end + 1 < line.endIndex else {
            return bytes.count < self.longestLine ? .incomplete : .malformed
        }
        guard line[end + 1] == 0x0A, end >= self.word.count else { return .malformed }
        let words = line[self.word.count..<end].split(separator: 0x20, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard let meaning = self.meaning(of: words) else { return .malformed }
        return .complete(ProxyPreamble(version: 1, meaning: meaning, byteCount: end + 2))
    }

    /// - Parameter words: The words after `PROXY `, separated by single spaces.
    private static func meaning(of words: [String]) -> Meaning? {
        // "the receiver must ignore anything presented before the CRLF is found"
        if words.first == "UNKNOWN" { return .local }
        guard words.count == 5, words[0] == "TCP4" || words[0] == "TCP6" else { return nil }
        let isV6 = words[0] == "TCP6"
        guard let source = self.endpoint(words[1], words[3], isV6: isV6),
            let destination = self.endpoint(words[2], words[4], isV6: isV6)
        else { return nil }
        return self.meaning(source, destination)
    }

    /// Parses an address and a port. Only a TCP6 address contains a colon.
    private static func endpoint(_ address: String, _ port: String, isV6: Bool) -> Endpoint? {
        guard address.utf8.contains(UInt8(ascii: ":")) == isV6, !address.utf8.contains(UInt8(ascii: "%")),
            let address = IPAddress(address), let number = UInt16(port), "\(number)" == port
        else { return nil }
        return Endpoint(address, port: number)
    }

    private static func meaning(_ source: Endpoint, _ destination: Endpoint) -> Meaning {
        .proxied(source: source, destination: destination)
    }

    // MARK: Version 2

    private static func readBinary(_ bytes: UnsafeRawBufferPointer) -> Reading {
        guard self.signature.starts(with: bytes.prefix(self.signature.count)) else { return .malformed }
        guard bytes.count > 12 else { return .incomplete }
        let command = bytes[12] & 0x0F
        // Version 2, and the command LOCAL or PROXY.
        guard bytes[12] >> 4 == 2, command <= 1 else { return .malformed }
        guard bytes.count >= self.fixedCount else { return .incomplete }
        let count = Int(bytes[14]) << 8 | Int(bytes[15])
        guard count <= self.longestBlock else { return .malformed }
        let end = self.fixedCount + count
        let family = bytes[13]
        func local() -> Reading {
            bytes.count < end
                ? .incomplete : .complete(ProxyPreamble(version: 2, meaning: .local, byteCount: end))
        }
        // "the receiver must ... discard the protocol block including the family which is ignored"
        if command == 0 || family == 0 { return local() }
        // TCP over IPv4 or IPv6.
        guard family == 0x11 || family == 0x21 else { return .malformed }
        let length = family == 0x11 ? 4 : 16
        let addresses = 2 * length + 4
        guard count >= addresses else { return .malformed }
        guard bytes.count >= end else { return .incomplete }
        func endpoint(_ index: Int) -> Endpoint? {
            let start = self.fixedCount + index * length
            let port = self.fixedCount + 2 * length + 2 * index
            return IPAddress(networkOrder: UnsafeRawBufferPointer(rebasing: bytes[start..<(start + length)])).map {
                Endpoint($0, port: UInt16(bytes[port]) << 8 | UInt16(bytes[port + 1]))
            }
        }
        guard let source = endpoint(0), let destination = endpoint(1),
            let values = ProxyValues(
                in: UnsafeRawBufferPointer(rebasing: bytes[0..<end]),
                from: self.fixedCount + addresses
            )
        else { return .malformed }
        var preamble = ProxyPreamble(version: 2, meaning: self.meaning(source, destination), byteCount: end)
        preamble.values = values
        return .complete(preamble)
    }
}
