import RedisStore
import Vocabulary

extension RedisCheck {
    /// Asks every sentinel for the primary's address. Returns the most frequent answer; `nil` if no sentinel answers.
    func check(_ sentinels: RedisConfiguration.Sentinels) async -> (verdicts: [Verdict], primary: RedisEndpoint?) {
        var verdicts: [Verdict] = []
        var named: [RedisEndpoint] = []
        let greeting = self.connector.current.sentinelGreeting
        let questions = [
            RedisCommand("SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinels.primaryName),
            RedisCommand("SENTINEL", "MASTERS"),
        ]
        let channels = RedisNeeds.sentinelChannels
        let subscriptions = channels.map { RedisCommand("SUBSCRIBE", $0) }
        for endpoint in sentinels.endpoints {
            do {
                let replies = try await self.ask(questions, of: endpoint, greeting: greeting)
                switch replies.first {
                case .array(let parts):
                    guard let primary = RedisEndpoint(sentinelAnswer: parts) else {
                        verdicts.append(self.error(endpoint, "sentinel", "its answer contains no address"))
                        continue
                    }
                    named.append(primary)
                    verdicts.append(self.ok(endpoint, "sentinel", "\(sentinels.primaryName) is at \(primary)"))
                    // Not with the questions: a sentinel that requires a password closes the connection at `SUBSCRIBE`.
                    let heard = try await self.ask(subscriptions, of: endpoint, greeting: greeting)
                    let unheard = zip(channels, heard).filter { _, reply in
                        if case .error(let error) = reply { error.code == "NOPERM" } else { false }
                    }
                    if !unheard.isEmpty {
                        // Not an error: the gateway also asks every ten seconds, and finds failovers without
                        // announcements.
                        let rules = unheard.map { " &\($0.0)" }.joined()
                        let finding =
                            "its user may not subscribe to news of failovers, so they are noticed late: grant +subscribe\(rules)"
                        verdicts.append(.warning("\(endpoint) sentinel", finding))
                    }
                case .null:
                    let finding = "it watches no \(sentinels.primaryName)\(Self.names(in: replies.dropFirst().first))"
                    verdicts.append(self.error(endpoint, "sentinel", finding))
                case .error(let error):
                    verdicts.append(self.error(endpoint, "sentinel", Self.sentinelRefusal(error)))
                default:
                    verdicts.append(
                        self.error(endpoint, "sentinel", "its answer contains no address: is it a sentinel?")
                    )
                }
            } catch {
                verdicts.append(self.error(endpoint, "sentinel", await self.sentinelFailure(error, endpoint)))
            }
        }
        if !named.isEmpty {
            // One sentinel that answers suffices. The faults of others are only warnings.
            for index in verdicts.indices where verdicts[index].level == .error { verdicts[index].level = .warning }
        }
        if Set(named).count > 1 {
            let finding = "they report different primaries: a failover is running, or some are cut off"
            verdicts.append(.warning("sentinels", finding))
        }
        let counted = Dictionary(grouping: named, by: { $0 }).max { $0.value.count < $1.value.count }
        return (verdicts, counted?.key)
    }

    private static func names(in reply: RedisReply?) -> String {
        guard case .array(let primaries)? = reply else { return "" }
        let names = primaries.compactMap { primary -> String? in
            // Each primary is a list of names and values, beginning with `name`.
            guard case .array(let fields) = primary, fields.count > 1, case .bulk(let name) = fields[1] else {
                return nil
            }
            return String(decoding: name, as: UTF8.self)
        }
        return names.isEmpty ? "; it watches nothing" : ": it watches \(names.joined(separator: ", "))"
    }

    private static func sentinelRefusal(_ error: RedisServerError) -> String {
        switch error.code {
        case "NOAUTH": "it requires its own password: write sentinel_password= into the URL (is it a sentinel?)"
        case "WRONGPASS": "sentinel_user or sentinel_password of the URL is wrong"
        case "NOPERM": "its user lacks +sentinel|get-master-addr-by-name"
        case "ERR" where error.message.utf8.contains("without any password configured".utf8):
            "it has no password: remove sentinel_password= from the URL"
        case "ERR" where error.isUnknownCommand:
            "it is not a sentinel: use one (usually port 26379), or write redis:// into the URL"
        default: RedisMessages.refusal(error)
        }
    }

    private func sentinelFailure(_ error: any Error, _ endpoint: RedisEndpoint) async -> String {
        if case RedisError.server(let refusal) = error { return Self.sentinelRefusal(refusal) }
        return await self.explain(error, at: endpoint)
    }

    /// Asks one node after another for the cluster's topology; `nil` if no node knows it.
    func check(seeds: [RedisEndpoint]) async -> (verdicts: [Verdict], topology: Topology?) {
        var verdicts: [Verdict] = []
        for seed in seeds {
            do {
                let replies = try await self.ask([RedisCommand("CLUSTER", "SLOTS")], of: seed)
                if case .error(let error) = replies.first {
                    if error.code == "NOPERM" {
                        verdicts += await self.rights(seed, tag: "check")
                    } else {
                        verdicts.append(self.error(seed, "cluster", RedisMessages.refusal(error)))
                    }
                    continue
                }
                guard let reply = replies.first, let topology = ClusterSlots.topology(reply, from: seed) else {
                    verdicts.append(self.error(seed, "cluster", "it knows no primaries: was the cluster created?"))
                    continue
                }
                let served = topology.shards.reduce(0) { $0 + $1.slots.reduce(0) { $0 + $1.count } }
                guard served == Topology.slotCount else {
                    let missing = Topology.slotCount - served
                    verdicts.append(
                        self.error(seed, "cluster", "\(missing) of \(Topology.slotCount) hash slots have no primary")
                    )
                    return (verdicts, topology)
                }
                for index in verdicts.indices { verdicts[index].level = .warning }
                verdicts.append(self.ok(seed, "cluster", "\(topology.shards.count) primaries serve all hash slots"))
                return (verdicts, topology)
            } catch {
                verdicts.append(self.error(seed, "cluster", await self.explain(error, at: seed)))
            }
        }
        return (verdicts, nil)
    }
}

extension RedisEndpoint {
    /// Reads host and port in the answer to `SENTINEL GET-MASTER-ADDR-BY-NAME`.
    fileprivate init?(sentinelAnswer parts: [RedisReply]) {
        guard parts.count == 2, case .bulk(let host) = parts[0], case .bulk(let port) = parts[1],
            let number = UInt16(String(decoding: port, as: UTF8.self)), !host.isEmpty
        else { return nil }
        self = .tcp(host: String(decoding: host, as: UTF8.self), port: Int(number))
    }
}
