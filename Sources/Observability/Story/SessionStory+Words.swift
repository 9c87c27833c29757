import Vocabulary

extension SessionStory {
    /// The story as text: the session, its events, and how it ended.
    package var text: String {
        let told = self.events.map { "  \($0.time)  \($0.words)" }
        let parts = [["session"] + self.head.map { "  \($0)" }, ["events"] + told, ["result", "  \(self.result)"]]
        return parts.map { $0.joined(separator: "\n") }.joined(separator: "\n")
    }

    /// The line about the session's beginning.
    private var beginning: Line? {
        self.lines.first(where: \.isBeginning)
    }

    private var head: [String] {
        func all(_ name: String) -> String? {
            var values: [String] = []
            for line in self.lines {
                let value = line.text(name)
                let isOwn = [line.session, line.fingerprint].contains { $0.map(self.names.contains) == true }
                if isOwn, !value.isEmpty, !values.contains(value) { values.append(value) }
            }
            return values.isEmpty ? nil : "\(name): \(values.joined(separator: ", "))"
        }
        var lines = ["fingerprint", "session", "subject", "provider", "client_id", "host"].compactMap(all)
        if let end = self.beginning?.detail("expires_at") { lines.append("ends at the latest: \(end)") }
        if let idle = self.beginning?.detail("idle_seconds") { lines.append("ends when unused for: \(idle) s") }
        return lines
    }

    // MARK: Events

    /// The events. A run of allowed requests becomes one event.
    private var events: [(time: String, words: String)] {
        var events: [(time: String, words: String)] = []
        var run: (first: Line, last: Line, count: Int)?
        func endRun() {
            guard let ended = run else { return }
            run = nil
            guard ended.count > 1 else { return events.append((ended.first.time, Self.request(ended.first))) }
            events.append(
                (ended.first.time, "\(ended.count) requests were allowed, the last at \(ended.last.time)")
            )
        }
        for line in self.lines {
            if line.isAccess, line.reason == nil {
                run = (run?.first ?? line, line, (run?.count ?? 0) + 1)
                continue
            }
            endRun()
            events.append((line.time, line.isAccess ? Self.request(line) : Self.event(line)))
        }
        endRun()
        return events
    }

    private static func request(_ line: Line) -> String {
        var status = ""
        if case .integer(let number)? = line.value["status"] { status = " \(number)" }
        let request = "\(line.text("method")) \(line.text("host"))\(line.text("path")) from \(line.text("client"))"
        return "\(request):\(status)\(self.reason(of: line))"
    }

    private static func event(_ line: Line) -> String {
        let address = line.text("address")
        let place = address.isEmpty ? "" : " from \(address)"
        let by = line.detail("detail").map { " (\($0))" } ?? ""
        return "\(line.text("event"))\(by)\(place)\(self.reason(of: line))"
    }

    private static func reason(of line: Line) -> String {
        guard let reason = line.reason else { return line.text("reason").isEmpty ? "" : ": \(line.text("reason"))" }
        return ": \(reason.rawValue)\(self.meaning(reason).map { ", \($0)" } ?? "")"
    }

    // MARK: Result

    /// How the session ended, as far as the lines show it.
    private var result: String {
        let own = self.lines.filter { $0.event == .sessionEnded || $0.event == .tokenRevoked }
        if let end = own.last, let reason = end.reason {
            let meaning = Self.meaning(reason) ?? "see the guide Reference/ReasonIDs.md"
            return "It ended by \(end.time): \(reason.rawValue), \(meaning)."
        }
        let refused = self.lines.last { $0.isAccess && $0.reason.map { Self.meaning($0) != nil } == true }
        guard let refused, let reason = refused.reason else {
            return "No line says that it has ended."
        }
        if reason == .sessionUnknown, let guess = self.guess(at: refused) { return guess }
        return "It was refused at \(refused.time): \(reason.rawValue), \(Self.meaning(reason) ?? "")."
    }

    /// Explains why a session was unknown at a request, from its idle and absolute lifetimes; `nil` if neither is known
    /// to have passed.
    private func guess(at refused: Line) -> String? {
        guard let now = UnixTime(rfc3339: refused.time) else { return nil }
        if let text = self.beginning?.detail("expires_at"), let end = UnixTime(rfc3339: text), now >= end {
            return "It had ended at \(text) at the latest (session.expired), before the request at \(refused.time)."
        }
        let last = self.lines.last { $0.isAccess && $0.reason == nil && $0.time < refused.time } ?? self.beginning
        guard let idle = self.beginning?.detail("idle_seconds").flatMap(Int.init), let last,
            let used = UnixTime(rfc3339: last.time), now >= used.advanced(by: .seconds(idle))
        else { return nil }
        return "It was not used from \(last.time) to \(refused.time), longer than its \(idle) s (session.idle)."
    }

    /// Returns an explanation of a reason that makes users sign in again; `nil` for other reasons.
    static func meaning(_ reason: Reason) -> String? {
        switch reason {
        case .sessionIdle: "it was not used for its idle lifetime"
        case .sessionExpired: "it reached its longest lifetime"
        case .sessionForgotten:
            "the gateway keeps sessions in its memory and was restarted after it began (or nobody was given that token)"
        case .sessionTokenReplaced:
            "a handoff gave the browser a new cookie, and this is the former one, or a copy of it that somebody has"
        case .sessionUnknown: "the store has nothing of it: it ended some time ago, or nobody was given that token"
        case .sessionRevoked: "it was ended before its time; session.ended says by whom"
        case .sessionSignedOut: "the user signed out"
        case .sessionOperatorEnded: "an operator ended it"
        case .sessionLimit: "the user signed in again and had reached session.max_per_user"
        case .sessionProviderSignedOut: "the provider signed the user out"
        case .sessionProviderEnded: "the provider refused to renew its tokens, or has ended its own session"
        case .sessionUserGone: "the user was removed from the list of users"
        case .signInBlocked: "an operator has blocked the user, or the provider has deactivated the user by SCIM"
        case .sessionClientGone: "the client that had the token was deleted, or has left the configuration"
        case .sessionPasswordChanged: "the user's password was changed"
        case .sessionRenewalAmbiguous: "the provider's answer to a renewal was lost, and its tokens have expired"
        case .sessionOtherHost: "the session is of another host"
        case .sessionOtherProvider: "the session is of another provider"
        case .credentialMissing: "the request had no session cookie and no token"
        case .credentialMalformed: "the cookie or token is not one of the gateway"
        case .credentialOtherKey:
            "the cookie or token was made under a secret that this gateway does not have (sallyport keys list)"
        case .credentialAmbiguousCookie: "the browser sent two different session cookies, so neither was used"
        case .bindingIPMismatch, .bindingASNMismatch, .bindingASNUnknown:
            "it came from another network than the session's"
        case .requireMaxAge: "the sign-in is older than the route allows"
        case .requireAAL: "the route needs a stronger sign-in"
        case .requireProvider: "the route is for users of another provider"
        default: nil
        }
    }
}
