/// The answer of a cluster's node that does not serve a key: `MOVED 3999 127.0.0.1:6381`, `ASK ...`.
package struct Redirection: Sendable, Hashable {
    /// True for `MOVED`, which applies to all later commands for the slot. False for `ASK`: only for this command.
    package let isMoved: Bool
    package let slot: Int
    package let endpoint: RedisEndpoint

    /// Reads an error reply; `nil` if it is not a redirection, or if its host is unknown (`?`).
    ///
    /// - Parameter asked: The node that answered. A node may leave out its own host.
    package init?(_ error: RedisServerError, from asked: RedisEndpoint) {
        guard error.code == "MOVED" || error.code == "ASK" else { return nil }
        let words = error.message.split(separator: " ")
        guard words.count >= 3, let slot = Int(words[1]), (0..<Topology.slotCount).contains(slot),
            let colon = words[2].lastIndex(of: ":"), let port = Int(words[2][words[2].index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        var host = words[2][..<colon]
        if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
        if host == "?" { return nil }
        if host.isEmpty {
            guard case .tcp(let own, _) = asked else { return nil }
            host = Substring(own)
        }
        self.isMoved = error.code == "MOVED"
        self.slot = slot
        self.endpoint = .tcp(host: String(host), port: port)
    }
}
