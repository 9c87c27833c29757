import RedisStore
import Vocabulary

extension RedisCheck {
    /// Runs each command that the gateway uses in a harmless form, to find missing rights. `ACL DRYRUN` would need
    /// Redis 7.0 and a further right.
    func rights(_ endpoint: RedisEndpoint, tag: String) async -> [Verdict] {
        do {
            let lacks = try await self.lacks(at: endpoint, tag: tag)
            var verdicts = [
                lacks.finding.map { self.error(endpoint, "commands", $0) }
                    ?? self.ok(endpoint, "commands", "all \(lacks.triedCount) are allowed")
            ]
            for optionalUse in RedisNeeds.OptionalUse.allCases {
                guard let rules = lacks.courtesies[optionalUse] else { continue }
                let finding = "\(optionalUse.loss): ACL SETUSER \(lacks.user) \(rules.joined(separator: " "))"
                verdicts.append(.warning("\(endpoint) \(optionalUse.rawValue)", finding))
            }
            return verdicts
                + (lacks.writeRefusal.map { [self.error(endpoint, "writes", RedisMessages.refusal($0))] } ?? [])
        } catch {
            return [self.error(endpoint, "commands", await self.explain(error, at: endpoint))]
        }
    }

    /// Runs all commands and uses all types of keys at one server.
    ///
    /// - Throws: An error if the server does not answer.
    func lacks(at endpoint: RedisEndpoint, tag: String) async throws -> RedisLacks {
        var needs = RedisNeeds.commands(tag: tag)
        if self.configuration.isCluster { needs += RedisNeeds.clusterOnly }
        if self.configuration.database != 0 { needs += RedisNeeds.databaseOnly }
        let keys = RedisNeeds.keys(tag: tag)
        let trials = needs.map(\.trial) + keys.flatMap { [$0.read, $0.write] } + [RedisNeeds.subscription.trial]
        let replies = try await self.ask(trials, of: endpoint)
        var lacks = RedisLacks(of: self.connector.current.user ?? "default", commands: needs, replies)
        lacks.take(keys, Array(replies.dropFirst(needs.count)))
        if let last = replies.last { lacks.take(subscription: last) }
        return lacks
    }
}

extension RedisNeeds.OptionalUse {
    /// What does not work if the commands are denied.
    fileprivate var loss: String {
        switch self {
        case .name: "connections have no name in CLIENT LIST"
        case .sessions: "sallyport sessions finds sessions only by user or address, and live sessions are not counted"
        }
    }
}

/// The rights that the gateway's user lacks, found by harmless commands.
struct RedisLacks {
    /// The name of the ACL user.
    let user: String
    let triedCount: Int
    /// The error with which the server rejects writes; `nil` if it accepts them.
    let writeRefusal: RedisServerError?
    /// The ACL rules that grant the missing rights.
    private(set) var rules: [String] = []
    /// The ACL rules that grant missing rights without which the gateway still works.
    private(set) var courtesies: [RedisNeeds.OptionalUse: [String]] = [:]
    private var commands: [String] = []
    private var unknown: [String] = []
    private var untouchable: [String] = []
    private var readOnly: [String] = []
    private var writeOnly: [String] = []
    private var channels: [String] = []

    init(of user: String, commands needs: [RedisNeeds.Command], _ replies: [RedisReply]) {
        self.user = user
        self.triedCount = needs.count + 1
        self.writeRefusal = replies.lazy.compactMap(\.writeRefusal).first
        for (need, reply) in zip(needs, replies) {
            if reply.isUnknownCommand {
                self.unknown.append(need.name.replacing("|", with: " ").uppercased())
            } else if reply.denial == .command {
                if let optionalUse = need.optionalUse {
                    self.courtesies[optionalUse, default: []].append("+\(need.name)")
                } else {
                    self.commands.append("+\(need.name)")
                }
            }
        }
        self.rules = self.commands
    }

    /// - Parameter replies: Two replies for each type of key: to a read and to a write.
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

    /// Describes the missing rights, with the command that grants them; `nil` if none is missing.
    var finding: String? { self.finding(self.unknown) }

    /// Like `finding`, but only the rights that the gateway cannot work without. An unknown `WAIT` is ignored: a
    /// service without this command has no replicas to wait for.
    var obstacle: String? { self.finding(self.unknown.filter { $0 != "WAIT" }) }

    private func finding(_ unknown: [String]) -> String? {
        let findings = self.findings(unknown)
        guard !findings.isEmpty else { return nil }
        let fix = self.rules.isEmpty ? "" : ": ACL SETUSER \(self.user) \(self.rules.joined(separator: " "))"
        return findings.joined(separator: "; ") + fix
    }

    private func findings(_ unknown: [String]) -> [String] {
        func finding(_ words: String, _ names: [String]) -> [String] {
            names.isEmpty ? [] : ["\(words) \(names.joined(separator: " "))"]
        }
        return finding("Redis does not know (renamed by rename-command?)", unknown)
            + finding("the ACL user lacks", self.commands)
            + finding("the ACL user may not use the keys", self.untouchable)
            + finding("the ACL user may read, but not write, the keys", self.readOnly)
            + finding("the ACL user may write, but not read, the keys", self.writeOnly)
            + finding("the ACL user may not subscribe to the channel", self.channels)
    }
}

extension RedisReply {
    /// The kind of right that an ACL denied; `nil` if the reply is not a denial.
    fileprivate var denial: RedisDenial? {
        if case .error(let error) = self { error.denial } else { nil }
    }

    fileprivate var isUnknownCommand: Bool {
        if case .error(let error) = self { error.isUnknownCommand } else { false }
    }

    fileprivate var writeRefusal: RedisServerError? {
        if case .error(let error) = self { error.writeRefusal } else { nil }
    }
}

extension RedisServerError {
    /// True if the server does not know the command, or knows it under another name.
    var isUnknownCommand: Bool { self.code == "ERR" && self.message.lowercased().hasPrefix("err unknown command") }
}
