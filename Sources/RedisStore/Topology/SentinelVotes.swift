/// The addresses that sentinels name as the primary's, and the order in which they are tried.
///
/// Sentinels may disagree. A sentinel that was cut off still names the old primary, and just after a failover only the
/// leading sentinel names the new primary. An address is tried as soon as most sentinels have named it. All other
/// addresses are tried when all sentinels have answered.
package struct SentinelVotes: Sendable {
    private let voters: Int
    private var answers = 0
    /// The votes, in the order in which the addresses were first named.
    private var votes: [(endpoint: RedisEndpoint, count: Int)] = []

    /// - Parameter voters: The number of sentinels, including sentinels that do not answer.
    package init(voters: Int) {
        self.voters = voters
    }

    /// Records that one sentinel has answered or failed. `endpoint` is `nil` if the sentinel named no address.
    package mutating func add(_ endpoint: RedisEndpoint?) {
        self.answers += 1
        guard let endpoint else { return }
        if let index = self.votes.firstIndex(where: { $0.endpoint == endpoint }) {
            self.votes[index].count += 1
        } else {
            self.votes.append((endpoint, 1))
        }
    }

    /// True once every sentinel has answered or failed.
    package var isComplete: Bool { self.answers >= self.voters }

    /// The addresses that may be tried so far, the likeliest first.
    package var candidates: [RedisEndpoint] {
        let ranked = self.votes.indices
            .sorted { (self.votes[$1].count, $0) < (self.votes[$0].count, $1) }
            .map { self.votes[$0] }
        return ranked.filter { self.isComplete || $0.count > self.voters / 2 }.map(\.endpoint)
    }
}

extension RedisEndpoint {
    /// Reads the reply to `SENTINEL GET-MASTER-ADDR-BY-NAME`: an address or (with `resolve-hostnames`) a host name, and
    /// a port. `nil` if the reply has another form.
    package init?(sentinelReply reply: RedisReply) {
        guard case .array(let parts) = reply, parts.count == 2, case .bulk(let host) = parts[0],
            case .bulk(let digits) = parts[1], let port = Int(String(decoding: digits, as: UTF8.self))
        else { return nil }
        self.init(announcedHost: host, port: port)
    }

    /// Reads an address that a server announces; `nil` if the host or the port is not valid.
    init?(announcedHost host: [UInt8], port: Int) {
        guard (1...255).contains(host.count), host.allSatisfy({ (0x21...0x7E).contains($0) }),
            (1...65_535).contains(port)
        else { return nil }
        self = .tcp(host: String(decoding: host, as: UTF8.self), port: port)
    }
}
