package import RedisStore
import Vocabulary

/// Messages about the gateway's Redis. Replies are never quoted, because they may contain what was sent.
package enum RedisMessages {
    /// Explains why a connection was lost.
    package static func cause(_ cause: RedisError.Cause) -> String {
        switch cause {
        case .notConnected: "it could not be reached"
        case .closed: "it was closed"
        case .timedOut: "it did not answer in time"
        case .overloaded: "too many commands wait for an answer"
        case .protocolError: "it does not speak Redis's protocol"
        case .shuttingDown: "the gateway is stopping"
        case .replaced: "another server replaces it"
        case .cutOff: "most sentinels, or most primaries of the cluster, are silent"
        }
    }

    /// Explains an error of Redis, and what to do.
    package static func refusal(_ error: RedisServerError) -> String {
        switch error.code {
        case "NOAUTH": "it requires a password: write user:password@ into the URL"
        case "WRONGPASS": "the user or the password in the URL is wrong, or the user is disabled"
        case "NOPERM":
            "the ACL user may not run a command that the gateway needs: `sallyport check --network` shows which"
        case "DENIED": "it is in protected mode: give it a user with a password, or bind it to loopback"
        case "LOADING": "it is loading its data, and will serve when that is done"
        case "READONLY", "MASTERDOWN": "it is a replica: use the primary, or the sentinels that know it"
        case "CLUSTERDOWN": "the cluster is down: some hash slots have no primary"
        case "MOVED", "ASK": "it is a node of a cluster: write redis+cluster:// into the URL"
        case "MISCONF": "it cannot save to disk and refuses writes: see its log"
        case "OOM": "its memory is full and it refuses writes: raise maxmemory"
        case "NOREPLICAS": "it has fewer replicas than min-replicas-to-write requires"
        case "NOMASTER": "this sentinel watches no primary of the name at the end of the URL"
        case "UNCONFIRMED": "no replica confirms writes: is its only replica stopped, or cut off from it?"
        case "BUSY": "a script keeps it busy: SCRIPT KILL ends one that has written nothing"
        default: Self.other(error)
        }
    }

    /// The error codes that keep a primary from serving and are explained by `refusal`.
    private static let codes = [
        "NOAUTH", "WRONGPASS", "NOPERM", "DENIED", "LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "MOVED",
        "NOMASTER", "BUSY",
    ]

    /// The values of `reason` in `sallyport_redis_down`.
    package static let reasons =
        ["cut_off", "no_primary", "not_connected", "other_error"] + Self.codes.map { $0.lowercased() }

    /// Returns why Redis cannot be used now, as a value of `reasons`; `nil` if it can be used.
    package static func reason(_ status: RedisStatus) -> String? {
        if status.cutOff != nil { return "cut_off" }
        guard !status.nodes.isEmpty else { return "no_primary" }
        if let refusal = status.nodes.lazy.compactMap(\.refusal).first {
            return Self.codes.contains(refusal.code) ? refusal.code.lowercased() : "other_error"
        }
        return status.isConnected ? nil : "not_connected"
    }

    /// Warns about gateways that share no secret with this gateway; `nil` if there are none.
    package static func strangers(_ strangers: SecretRegister.OtherSecretCounts) -> String? {
        if strangers.earlier > 0 {
            return
                "\(strangers.earlier) gateways that joined this Redis earlier have none of this gateway's secrets: "
                + "it cannot read their sessions. Give it their secret_file, or also accept their secret"
        }
        guard strangers.later > 0 else { return nil }
        return "\(strangers.later) gateways that joined this Redis later have none of this gateway's secrets: "
            + "neither side can read the sessions of the other. They are not ready"
    }

    /// Explains any other error, e.g. with the generic code `ERR`, by its text.
    private static func other(_ error: RedisServerError) -> String {
        let text = error.message.lowercased()
        if text.utf8.contains("db index".utf8) {
            return "it has no database with that number: correct the end of the URL"
        }
        if text.utf8.contains("select is not allowed in cluster".utf8) {
            return "a cluster has only database 0: remove the number from the URL"
        }
        if text.utf8.contains("without any password configured".utf8)
            || text.utf8.contains("but no password is set".utf8)
        {
            return "it has no password: remove it from the URL or, better, set one in Redis"
        }
        if text.utf8.contains("max number of clients".utf8) { return "it has as many clients as maxclients allows" }
        if text.utf8.contains("arguments for 'auth'".utf8) {
            return "it is older than 6.0 and has no users: use a later version"
        }
        if error.isUnknownCommand { return "it does not know a command: is it Redis or a sentinel, as the URL says?" }
        if text.utf8.contains("cluster support disabled".utf8) {
            return "it is not a cluster: write redis:// into the URL"
        }
        return "\(error.code): see `sallyport check --network`"
    }

    /// Describes the state of the connections.
    ///
    /// - Parameter reason: Why connections are missing; `nil` if unknown.
    package static func connection(_ status: RedisStatus, reason: String?) -> String {
        var words = status.nodes.map { node in
            var words = "\(node.address): connected on \(node.connectedLoops) of \(status.loops) loops"
            if let refusal = node.refusal { words += ", it refuses to serve: \(Self.refusal(refusal))" }
            return words
        }
        if words.isEmpty { words = ["no primary is known yet"] }
        if let reason, !status.isConnected { words.append(reason) }
        return words.joined(separator: "; ")
    }

    /// Describes since when and why primaries have refused writes, and the consequences.
    package static func writeRefusals(_ nodes: [RedisStatus.Node]) -> String {
        let words = nodes.compactMap { node in
            node.writeRefusal.map { refusal in
                let seconds = (ContinuousClock.now - refusal.since).components.seconds
                return "\(node.address): refuses writes for \(seconds) s (\(refusal.error.code)): "
                    + Self.refusal(refusal.error)
            }
        }
        return words.joined(separator: "; ") + "; users cannot sign in and transfers fail; existing sessions still work"
    }

    /// Describes the consequences if most sentinels, or most primaries of the cluster, do not answer.
    package static func silence(_ quorum: Quorum) -> String {
        "only \(quorum.heard) of \(quorum.count) sentinels, or primaries of the cluster, answer: another primary may have "
            + "been chosen without this gateway; no session is read and nothing is written until most of them answer again"
    }

    /// The warning about a server without an append-only file.
    package static let snapshotsOnly =
        "no append-only file: after a crash it has the data of its last snapshot. Users who signed in since then sign in again. "
        + "The gateways repeat the sign-outs of the last 15 minutes; earlier ones, and those at "
        + "gateways that were restarted, are undone: set appendonly yes"

    /// Lists the ways in which a server may lose records, and what to do. If the marker of a used token is lost, the
    /// token becomes valid again.
    package static func dangers(_ facts: RedisFacts) -> [String] {
        var dangers: [String] = []
        if facts.maxMemory > 0, facts.maxMemoryPolicy != "noeviction" {
            let evicted = facts.evictedKeys > 0 ? "it has evicted \(facts.evictedKeys) keys" : "it may evict keys"
            dangers.append(
                "\(evicted), because maxmemory-policy is \(facts.maxMemoryPolicy): run CONFIG SET maxmemory-policy noeviction"
            )
        }
        if !facts.lastSaveSucceeded {
            dangers.append(
                "its last save to disk failed: see its log, and the free space and permissions of its directory"
            )
        }
        return dangers
    }
}
