import RedisStore

/// What the gateway says of its Redis, in words for the operator. None of it quotes a reply, which may quote what was sent.
enum RedisWords {
    /// Why a connection is gone.
    static func cause(_ cause: RedisError.Cause) -> String {
        switch cause {
        case .notConnected: "it could not be reached"
        case .closed: "it was closed"
        case .timedOut: "it did not answer in time"
        case .overloaded: "too much waits for an answer"
        case .protocolError: "it does not speak Redis's protocol"
        case .shuttingDown: "the gateway stops"
        case .replaced: "another server takes its place"
        case .cutOff: "most sentinels, or most primaries of the cluster, are silent"
        }
    }

    /// What an error reply to the handshake means, and the mend.
    static func refusal(_ error: RedisServerError) -> String {
        switch error.code {
        case "NOAUTH": "it wants a password: write user:password@ into the URL"
        case "WRONGPASS": "the user or the password of the URL is wrong, or the user is off"
        case "NOPERM": "the ACL user may not run a command that is needed: `sallyport check --network` names it"
        case "DENIED": "protected mode: give it a user with a password, or bind it to loopback"
        case "LOADING": "it is loading its data and serves when it has done so"
        case "READONLY", "MASTERDOWN": "it is a replica: name the primary, or the sentinels that know it"
        case "CLUSTERDOWN": "the cluster is down: some hash slots have no primary"
        case "MOVED", "ASK": "it is a node of a cluster: write redis+cluster:// into the URL"
        case "MISCONF": "it cannot save to disk and refuses writes: see its log"
        case "OOM": "its memory is full and it refuses writes: raise maxmemory"
        case "NOREPLICAS": "it has fewer replicas than min-replicas-to-write demands"
        case "NOMASTER": "this sentinel watches no primary of the name at the end of the URL"
        case "UNCONFIRMED": "no replica confirms what is written: is its only one stopped, or cut off from it?"
        case "BUSY": "a script keeps it busy: SCRIPT KILL ends one that has written nothing"
        default: Self.other(error)
        }
    }

    /// Replies whose class is plain `ERR` tell what they are by their text.
    private static func other(_ error: RedisServerError) -> String {
        let text = error.message.lowercased()
        if text.contains("db index") { return "it has no database of that number: mend the end of the URL" }
        if text.contains("select is not allowed in cluster") { return "a cluster has database 0 only" }
        if text.contains("without any password configured") || text.contains("but no password is set") {
            return "it has no password: take it out of the URL, or better, set one there"
        }
        if text.contains("max number of clients") { return "it has all the clients that maxclients allows" }
        if text.contains("arguments for 'auth'") { return "it is older than 6.0 and knows no users: take a later one" }
        if error.isUnknownCommand { return "it lacks a command: is it what the URL says, Redis or a sentinel?" }
        if text.contains("cluster support disabled") { return "it is no cluster: write redis:// into the URL" }
        return "\(error.code): see `sallyport check --network`"
    }

    /// How the connections stand.
    ///
    /// - Parameter reason: Why some are missing, where that was found out.
    static func connection(_ status: RedisStatus, reason: String?) -> String {
        var words = status.nodes.map { node in
            var words = "\(node.address): connected on \(node.connectedLoops) of \(status.loops) loops"
            if let refusal = node.refusal { words += ", it refuses to serve: \(Self.refusal(refusal))" }
            return words
        }
        if words.isEmpty { words = ["no primary is known yet"] }
        if let reason, !status.isConnected { words.append(reason) }
        return words.joined(separator: "; ")
    }

    /// Since when and why these primaries take no writes, and what that means.
    static func writeRefusals(_ nodes: [RedisStatus.Node]) -> String {
        let words = nodes.compactMap { node in
            node.writeRefusal.map { refusal in
                let seconds = (ContinuousClock.now - refusal.since).components.seconds
                return "\(node.address): refuses writes for \(seconds) s (\(refusal.error.code)): "
                    + Self.refusal(refusal.error)
            }
        }
        return words.joined(separator: "; ") + "; nobody can sign in or be handed over, and sessions are still read"
    }

    /// That too few are heard of those who know which servers are primaries, and what that means.
    static func silence(_ quorum: Quorum) -> String {
        "only \(quorum.heard) of \(quorum.count) sentinels, or primaries of the cluster, are heard: another primary may have "
            + "been chosen without this gateway; no session is read and nothing is written until most are heard again"
    }

    /// What a restart brings back of a server that does not write each change to disk.
    static let snapshotsOnly =
        "no append-only file: a crash takes it back to its last snapshot. Users who signed in since sign in again; the "
        + "gateways end again what they know to have ended in the last 15 minutes, and what ended before that, or at "
        + "gateways that were restarted, lives again: set appendonly yes"

    /// By what a server could forget what must be remembered, with the mend: a used-up token's marker that is gone makes
    /// the token good again.
    static func dangers(_ facts: RedisFacts) -> [String] {
        var dangers: [String] = []
        if facts.maxMemory > 0, facts.maxMemoryPolicy != "noeviction" {
            let evicted = facts.evictedKeys > 0 ? "it has pushed out \(facts.evictedKeys) keys" : "it may push out keys"
            dangers.append(
                "\(evicted), as maxmemory-policy is \(facts.maxMemoryPolicy): CONFIG SET maxmemory-policy noeviction"
            )
        }
        if !facts.lastSaveSucceeded {
            dangers.append("its last save to disk failed: see its log, and the room and rights of its directory")
        }
        return dangers
    }
}
