import GatewayBench

/// A gateway that takes clients from proxies on this machine only.
enum ProxiedGateway {
    /// - Parameters:
    ///   - listen: The value of `listen`.
    ///   - binding: The device binding of the client that consumes transfer tokens.
    static func with(
        listen: String,
        binding: String = "ip",
        more: String = "",
        _ body: (Gateway, FakeUpstream) throws -> Void
    ) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            clients: Config.clients(binding: binding),
            listen: listen,
            more: "log: {access: true}\n" + more
        )
        try Gateway.with(settings) { try body($0, app) }
    }

    /// The value of `listen` with one address.
    static func listen(port: Int = 0, from: String = "127.0.0.1", others: String = "refuse") -> String {
        "[{address: \"127.0.0.1:\(port)\", proxy_protocol: {from: [\(from)], others: \(others)}}]"
    }
}

/// What a proxy writes in front of a connection's bytes.
enum Header {
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    /// Version 1 for a client with this IPv4 address.
    static func line(_ client: String) -> [UInt8] { Array("PROXY TCP4 \(client) 127.0.0.1 4711 80\r\n".utf8) }

    /// Version 2 for a client with this IPv4 address.
    ///
    /// - Parameter values: What it says besides.
    static func binary(_ client: String, _ values: [(kind: UInt8, bytes: [UInt8])] = []) -> [UInt8] {
        let address = client.split(separator: ".").compactMap { UInt8($0) }
        let block =
            address + [127, 0, 0, 1, 0x12, 0x67, 0, 80]
            + values.flatMap { [$0.kind, UInt8($0.bytes.count >> 8), UInt8($0.bytes.count & 0xFF)] + $0.bytes }
        return self.signature + [0x21, 0x11, UInt8(block.count >> 8), UInt8(block.count & 0xFF)] + block
    }

    /// Version 2 of a proxy that connects for itself.
    static let local: [UInt8] = Self.signature + [0x20, 0x00, 0, 0]
}

extension Gateway {
    /// The answer to a request behind a header.
    func request(_ header: [UInt8], _ text: String, from source: String? = nil) throws -> Answer {
        let wire = try self.connect(from: source)
        wire.send(header + Array(text.utf8))
        return try wire.answer()
    }

    /// The value of the counter for headers.
    func headers(_ result: String) throws -> Double {
        try self.metric("sallyport_proxy_protocol_total{result=\"\(result)\"}")
    }
}
