import RedisStore
import Vocabulary

extension RedisCheck {
    /// Runs every command that the gateway uses, each in a harmless form. `ACL DRYRUN` needs Redis 7.0 and a right of
    /// its own.
    func rights(_ endpoint: RedisEndpoint, tag: String) async -> [Verdict] {
        var needs = RedisNeeds.commands(tag: tag)
        if self.configuration.isCluster { needs += RedisNeeds.clusterOnly }
        if self.configuration.database != 0 { needs += RedisNeeds.databaseOnly }
        let keys = RedisNeeds.keys(tag: tag)
        do {
            let trials =
                needs.map(\.trial) + keys.flatMap { [$0.read, $0.write] } + [RedisNeeds.subscription.trial]
            let replies = try await self.ask(trials, of: endpoint)
            var lacks = Lacks(commands: needs, replies)
            lacks.take(keys, Array(replies.dropFirst(needs.count)))
            if let last = replies.last { lacks.take(subscription: last) }
            let user = self.configuration.user ?? "default"
            let findings = lacks.findings
            var verdicts: [Verdict] = []
            if findings.isEmpty {
                verdicts.append(self.ok(endpoint, "commands", "all \(needs.count + 1) are allowed"))
            } else {
                let mend = lacks.rules.isEmpty ? "" : ": ACL SETUSER \(user) \(lacks.rules.joined(separator: " "))"
                verdicts.append(self.error(endpoint, "commands", findings.joined(separator: "; ") + mend))
            }
            for courtesy in RedisNeeds.Courtesy.allCases {
                guard let rules = lacks.courtesies[courtesy] else { continue }
                let finding = "\(courtesy.loss): ACL SETUSER \(user) \(rules.joined(separator: " "))"
                verdicts.append(.warning("\(endpoint) \(courtesy.rawValue)", finding))
            }
            return verdicts
                + replies.compactMap(\.writeRefusal).prefix(1).map {
                    self.error(endpoint, "writes", RedisMessages.refusal($0))
                }
        } catch {
            return [self.error(endpoint, "commands", await self.explain(error, at: endpoint))]
        }
    }
}

extension RedisNeeds.Courtesy {
    /// What is missing without its commands.
    fileprivate var loss: String {
        switch self {
        case .name: "connections have no name in CLIENT LIST"
        case .sessions: "sallyport sessions finds those of a user or an address only, and live sessions are not counted"
        }
    }
}

/// What the gateway's user lacks, by the replies to what was tried.
private struct Lacks {
    /// Rules that would grant it.
    private(set) var rules: [String] = []
    /// Rules for what the gateway can do without.
    private(set) var courtesies: [RedisNeeds.Courtesy: [String]] = [:]
    private var commands: [String] = []
    private var unknown: [String] = []
    private var untouchable: [String] = []
    private var readOnly: [String] = []
    private var writeOnly: [String] = []
    private var channels: [String] = []

    init(commands needs: [RedisNeeds.Command], _ replies: [RedisReply]) {
        for (need, reply) in zip(needs, replies) {
            if reply.isUnknownCommand {
                self.unknown.append(need.name.replacing("|", with: " ").uppercased())
            } else if reply.denial == .command {
                if let courtesy = need.courtesy {
                    self.courtesies[courtesy, default: []].append("+\(need.name)")
                } else {
                    self.commands.append("+\(need.name)")
                }
            }
        }
        self.rules = self.commands
    }

    /// - Parameter replies: The replies to the read and the write of each type, in turn.
    mutating func take(_ keys: [RedisNeeds.KeyType], _ replies: [RedisReply]) {
        for (index, key) in keys.enumerated() where index * 2 + 1 < replies.count {
            switch (replies[index * 2].denial == .key, replies[index * 2 + 1].denial == .key) {
            case (true, true): self.untouchable.append(key.pattern)
            case (false, true): self.readOnly.append(key.pattern)
            case (true, false): self.writeOnly.append(key.pattern)
            case (false, false): break
            }
        }
        func whole(_ patterns: [String]) -> [String] {
            patterns.count == keys.count ? ["\(RedisNeeds.keyPrefix)*"] : patterns
        }
        self.untouchable = whole(self.untouchable)
        self.readOnly = whole(self.readOnly)
        self.writeOnly = whole(self.writeOnly)
        self.rules += (self.untouchable + self.readOnly + self.writeOnly).map { "~\($0)" }
    }

    mutating func take(subscription reply: RedisReply) {
        switch reply.denial {
        case .channel?:
            self.channels = [SubscriptionPlan.keyChannel]
            self.rules.append("&\(SubscriptionPlan.keyChannel)")
        case .command?:
            self.commands.append("+\(RedisNeeds.subscription.name)")
            self.rules.append("+\(RedisNeeds.subscription.name)")
        case .key?, nil: break
        }
    }

    /// The missing rights that are needed, in words; empty when none is missing.
    var findings: [String] {
        func finding(_ words: String, _ names: [String]) -> [String] {
            names.isEmpty ? [] : ["\(words) \(names.joined(separator: " "))"]
        }
        return finding("Redis does not know (renamed by rename-command?)", self.unknown)
            + finding("the ACL user lacks", self.commands)
            + finding("the ACL user may not use the keys", self.untouchable)
            + finding("the ACL user may read, but not write, the keys", self.readOnly)
            + finding("the ACL user may write, but not read, the keys", self.writeOnly)
            + finding("the ACL user may not subscribe to the channel", self.channels)
    }
}

extension RedisReply {
    /// What an ACL has denied.
    enum Denial {
        case command, key, channel
    }

    /// What this `NOPERM` is about. Redis checks commands before keys and channels, and only its text tells which: `...
    /// to run the 'get' command`, `... to access one of the keys used as arguments` (since 7.2 `access a key`).
    fileprivate var denial: Denial? {
        guard case .error(let error) = self, error.code == "NOPERM" else { return nil }
        if error.message.utf8.contains("to run the".utf8) { return .command }
        if error.message.utf8.contains("channel".utf8) { return .channel }
        return error.message.utf8.contains(" key".utf8) ? .key : .command
    }

    fileprivate var isUnknownCommand: Bool {
        if case .error(let error) = self { error.isUnknownCommand } else { false }
    }

    fileprivate var writeRefusal: RedisServerError? {
        if case .error(let error) = self { error.writeRefusal } else { nil }
    }
}

extension RedisServerError {
    /// Whether the server has no such command, or has it under another name.
    var isUnknownCommand: Bool { self.code == "ERR" && self.message.lowercased().hasPrefix("err unknown command") }
}
