import ArgumentParser
import Vocabulary

/// `sallyport sessions`: who is signed in at a running gateway, and signs users out.
struct SessionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Show who is signed in, and sign users out.",
        discussion: """
            Asks the admin listener with the token of an operator (admin.tokens_file): one with the scope read to show, and \
            sessions to end. Gateways that share a Redis share the sessions, so one of them is enough; with store.memory name \
            the admin listener of each. Over TLS the token is sent only to a gateway that shows one of tls.certificates in \
            the settings.
            """,
        subcommands: [List.self, Show.self, End.self],
        defaultSubcommand: List.self
    )

    /// Whose sessions are meant.
    struct Choice: ParsableArguments {
        @Option(help: ArgumentHelp("The users with this email address, vouched for or not.", valueName: "address"))
        var email: String?

        @Option(help: ArgumentHelp("The user whom the provider calls so.", valueName: "subject"))
        var subject: String?

        @Option(help: ArgumentHelp("Only users of this provider; with --subject, whose user it is.", valueName: "name"))
        var provider: String?

        func validate() throws {
            if self.email != nil, self.subject != nil {
                throw ValidationError("--email and --subject exclude each other.")
            }
            if let email = self.email, EmailAddress(email) == nil {
                throw ValidationError("--email must be an email address, e.g. ada@example.com.")
            }
        }

        /// The parameters of a list.
        fileprivate var query: [(name: String, value: String)] {
            [("email", self.email), ("subject", self.subject), ("provider", self.provider)].compactMap { name, value in
                value.map { (name, $0) }
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the sessions of a user, or some of all, the latest first."
        )

        @OptionGroup var choice: Choice
        @OptionGroup var operators: OperatorOptions

        @Flag(help: "Show all, not only the first \(SessionsCommand.shown).")
        var all = false

        func run() throws {
            try self.operators.forEach { gateway throws(AdminProbe.Failure) in
                var left = self.all ? Int.max : SessionsCommand.shown
                let isWhole = try SessionsCommand.forEach(self.choice.query, at: gateway) { session in
                    guard left > 0 else { return false }
                    left -= 1
                    Console.say(session.line)
                    return true
                }
                if !isWhole { Console.complain("there are more; --all shows them") }
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show all that is known of a session.")

        @Argument(
            help: ArgumentHelp("The session's handle, the first word of its line in the list.", valueName: "handle")
        )
        var handle: String

        @OptionGroup var operators: OperatorOptions

        func run() throws {
            try self.operators.forEach { gateway throws(AdminProbe.Failure) in
                let body = try gateway.ask("GET", "/sessions/\(PercentCoding.encoded(self.handle))").body
                Console.say(OperatorSession(JSONText.decode(Array(body.utf8)) ?? .null)?.text ?? body)
            }
        }
    }

    struct End: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a session, or sign users out.",
            discussion: """
                A user is signed out as a whole: also sessions that began a moment ago and are in no list yet end. With \
                --provider alone all users of that provider are signed out, with --all everybody.
                """
        )

        @Argument(help: ArgumentHelp("The handle of one session.", valueName: "handle"))
        var handle: String?

        @OptionGroup var choice: Choice
        @OptionGroup var operators: OperatorOptions

        @Flag(help: "Sign everybody out.")
        var all = false

        @Flag(help: "Only say what would end.")
        var dryRun = false

        func validate() throws {
            let isChoice = !self.choice.query.isEmpty
            guard [self.handle != nil, isChoice, self.all].count(where: { $0 }) == 1 else {
                throw ValidationError("Name one of: a handle, --email, --subject, --provider, --all.")
            }
        }

        func run() throws {
            try self.operators.forEach { gateway throws(AdminProbe.Failure) in
                if let handle = self.handle { return try self.end(handle, at: gateway) }
                try self.signOut(at: gateway)
            }
        }

        private func end(_ handle: String, at gateway: OperatorOptions.Gateway) throws(AdminProbe.Failure) {
            let path = "/sessions/\(PercentCoding.encoded(handle))"
            guard !self.dryRun else {
                let body = try gateway.ask("GET", path).body
                return Console.say(OperatorSession(JSONText.decode(Array(body.utf8)) ?? .null)?.line ?? body)
            }
            _ = try gateway.ask("DELETE", path)
            Console.say("ended")
        }

        private func signOut(at gateway: OperatorOptions.Gateway) throws(AdminProbe.Failure) {
            // The handles of the sessions of each user.
            var users: [[String]: [String]] = [:]
            // Also where no session of the user is in a list.
            let named = self.choice.subject.map { [$0, self.choice.provider ?? ""] }
            if let named { users[named] = [] }
            var sessions = 0
            try SessionsCommand.forEach(self.choice.query, at: gateway) { session in
                sessions += 1
                users[named ?? [session.subject, session.provider ?? ""], default: []].append(session.handle)
                if self.dryRun { Console.say(session.line) }
                return true
            }
            guard !self.dryRun else { return Console.say("would sign out \(Self.words(users.count, sessions))") }
            var (done, failure): (Int, AdminProbe.Failure?) = (0, nil)
            for (user, handles) in users {
                do throws(AdminProbe.Failure) {
                    try Self.signOut(user, handles, at: gateway)
                    done += 1
                } catch {
                    failure = error
                    // A gateway that does not answer does not for the next one either.
                    guard error.status != nil else { break }
                }
            }
            guard let failure else { return Console.say("signed out \(Self.words(done, sessions))") }
            Console.complain("only \(done) of \(Self.words(users.count, sessions)) are signed out")
            throw failure
        }

        /// Signs a user out, or where the provider of their sessions is configured no more, ends each of these.
        private static func signOut(
            _ user: [String],
            _ handles: [String],
            at gateway: OperatorOptions.Gateway
        ) throws(AdminProbe.Failure) {
            var query = [(name: "subject", value: user[0])]
            if !user[1].isEmpty { query.append(("provider", user[1])) }
            do throws(AdminProbe.Failure) {
                _ = try gateway.ask("DELETE", "/sessions?\(FormText.encoded(query))")
            } catch {
                guard error.status == 400, !handles.isEmpty else { throw error }
                for handle in handles { _ = try gateway.ask("DELETE", "/sessions/\(PercentCoding.encoded(handle))") }
            }
        }

        private static func words(_ users: Int, _ sessions: Int) -> String {
            "\(users) \(users == 1 ? "user" : "users") of \(sessions) \(sessions == 1 ? "session" : "sessions")"
        }
    }

    /// How many sessions a list shows by default.
    fileprivate static let shown = 100

    /// Calls `body` with each session of a list, until it returns false; true if it was called with all.
    @discardableResult
    private static func forEach(
        _ query: [(name: String, value: String)],
        at gateway: OperatorOptions.Gateway,
        _ body: (OperatorSession) -> Bool
    ) throws(AdminProbe.Failure) -> Bool {
        var seen: Set<String> = []
        var page: String?
        repeat {
            let parameters = query + (page.map { [("page", $0)] } ?? [])
            let path = parameters.isEmpty ? "/sessions" : "/sessions?\(FormText.encoded(parameters))"
            let document = JSONText.decode(Array(try gateway.ask("GET", path).body.utf8))
            guard case .array(let sessions)? = document?["sessions"] else {
                throw AdminProbe.Failure(description: "\(gateway.address) answers without a list of sessions")
            }
            for session in sessions.compactMap({ OperatorSession($0) }) where seen.insert(session.handle).inserted {
                guard body(session) else { return false }
            }
            page = document?["next"]?.string
        } while page != nil
        return true
    }
}

/// A session as the admin listener shows it.
private struct OperatorSession {
    let handle: String
    let subject: String
    let provider: String?
    private let members: [String: JSONValue]

    init?(_ document: JSONValue) {
        guard case .object(let members) = document, let handle = members["handle"]?.string,
            let subject = members["subject"]?.string
        else { return nil }
        self.handle = handle
        self.subject = subject
        self.provider = members["provider"]?.string
        self.members = members
    }

    /// The session in a list.
    var line: String {
        let user = self.members["email"]?.string.map { "\($0) (\(self.name))" } ?? self.name
        let place = self.members["host"]?.string ?? self.members["client_id"]?.string ?? "native app"
        return [
            self.handle, user, place, self.members["address"]?.string ?? "-",
            "since \(self.members["issued_at"]?.string ?? "-")", "seen \(self.members["last_seen_at"]?.string ?? "-")",
        ].map(\.printable).joined(separator: "  ")
    }

    private var name: String { self.provider.map { "\(self.subject) of \($0)" } ?? self.subject }

    /// All that is known of it, one member a line.
    var text: String {
        self.members.sorted { $0.key < $1.key }.map { name, value in
            "\(name): \((value.string ?? String(decoding: JSONText.encode(value), as: UTF8.self)).printable)"
        }.joined(separator: "\n")
    }
}

extension String {
    /// The text without what could move the cursor of a terminal: a provider names users as it likes.
    fileprivate var printable: String {
        let hidden: Set<Unicode.GeneralCategory> = [.control, .format, .lineSeparator, .paragraphSeparator]
        return String(
            String.UnicodeScalarView(
                self.unicodeScalars.map { hidden.contains($0.properties.generalCategory) ? "?" : $0 }
            )
        )
    }
}
