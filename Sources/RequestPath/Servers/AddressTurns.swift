import NIOCore

extension [SocketAddress] {
    /// Returns the addresses, rotated by `turn` within each address family. The resolver's preferred family stays first
    /// (RFC 6724, RFC 8305 4).
    func begun(at turn: Int) -> [SocketAddress] {
        guard self.count > 1 else { return self }
        let preferred = self[0].protocol
        func rotated(_ addresses: [SocketAddress]) -> [SocketAddress] {
            guard addresses.count > 1 else { return addresses }
            let start = Int(UInt(bitPattern: turn) % UInt(addresses.count))
            return [SocketAddress](addresses[start...] + addresses[..<start])
        }
        return rotated(self.filter { $0.protocol == preferred }) + rotated(self.filter { $0.protocol != preferred })
    }
}
