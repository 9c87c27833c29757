import RedisStore

extension RedisCheck {
    /// Runs every command that the gateway uses, each in a form that does no harm: `ACL DRYRUN` is of 7.0 and needs a
    /// right of its own.
    func rights(_ endpoint: RedisEndpoint, tag: String) async -> [Verdict] {
        var needs = RedisNeeds.commands(tag: tag)
        if self.configuration.isCluster { needs += RedisNeeds.clusterOnly }
        let keys = RedisNeeds.keys(tag: tag)
        do {
            let trials = needs.map(\.trial) + keys.map(\.trial) + [RedisNeeds.subscription.trial]
            let replies = try await self.ask(trials, of: endpoint)
            var lacks: [String] = []
            for (need, reply) in zip(needs, replies) where reply.isNotPermitted { lacks.append("+\(need.name)") }
            let mayGet = !lacks.contains("+get")
            for (key, reply) in zip(keys, replies.dropFirst(needs.count)) where mayGet && reply.isNotPermitted {
                lacks.append("~\(RedisNeeds.keyPrefix)\(key.type):*")
            }
            if let reply = replies.last, case .error(let error) = reply, reply.isNotPermitted {
                lacks.append(
                    error.message.contains("channel") ? "&\(RedisNeeds.channel)" : "+\(RedisNeeds.subscription.name)"
                )
            }
            return [self.commands(lacks, of: needs.count + 1, endpoint)]
                + replies.compactMap(\.writeRefusal).prefix(1).map {
                    self.error(endpoint, "writes", RedisWords.refusal($0))
                }
        } catch {
            return [self.error(endpoint, "commands", RedisWords.failure(error, of: self.configuration))]
        }
    }

    private func commands(_ lacks: [String], of count: Int, _ endpoint: RedisEndpoint) -> Verdict {
        guard !lacks.isEmpty else { return self.ok(endpoint, "commands", "all \(count) are allowed") }
        let words = lacks.joined(separator: " ")
        let user = self.configuration.user ?? "default"
        return self.error(endpoint, "commands", "the ACL user lacks \(words): ACL SETUSER \(user) \(words)")
    }
}

extension RedisReply {
    fileprivate var isNotPermitted: Bool {
        if case .error(let error) = self { error.code == "NOPERM" } else { false }
    }

    fileprivate var writeRefusal: RedisServerError? {
        if case .error(let error) = self { error.writeRefusal } else { nil }
    }
}
