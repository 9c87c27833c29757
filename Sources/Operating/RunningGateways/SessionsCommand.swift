import ArgumentParser
import Vocabulary

/// `sallyport sessions`: lists sessions at running gateways, signs users out, and blocks users.
struct SessionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Show who is signed in, sign users out, and block users.",
        discussion: """
            Calls the admin listener with an operator's token (admin.tokens_file). The token needs the scope read to show \
            sessions, and sessions to end them or to block users. Gateways with the same Redis share their sessions, so \
            one of them is enough; with store.memory, pass the admin listener of each. Over TLS the token is sent only to \
            a gateway that presents one of tls.certificates in the settings.
            """,
        subcommands: [List.self, Show.self, End.self, Block.self, Unblock.self],
        defaultSubcommand: List.self
    )

    /// The options that select users.
    struct Choice: ParsableArguments {
        @Option(help: ArgumentHelp("The users with this email address, verified or not.", valueName: "address"))
        var email: String?

        @Option(
            help: ArgumentHelp("The user's id at the provider, or the subject that apps get.", valueName: "subject")
        )
        var subject: String?

        @Option(
            help: ArgumentHelp(
                "Only users of this provider. With --subject, the provider of that user.",
                valueName: "name"
            )
        )
        var provider: String?

        func validate() throws {
            if self.email != nil, self.subject != nil {
                throw ValidationError("--email and --subject exclude each other.")
            }
            if let email = self.email, EmailAddress(email) == nil {
                throw ValidationError("--email must be an email address, e.g. ada@example.com.")
            }
        }

        /// The options as query parameters.
        fileprivate var query: [(name: String, value: String)] {
            [("email", self.email), ("subject", self.subject), ("provider", self.provider)].compactMap { name, value in
                value.map { (name, $0) }
            }
        }

        /// The options as in a command line.
        fileprivate var words: String { self.query.map { "--\($0) \($1)" }.joined(separator: " ") }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the sessions of one user, the latest first, or of all users."
        )

        @OptionGroup var choice: Choice
        @OptionGroup var operators: OperatorOptions

        @Flag(help: "Show all sessions, not only the first \(SessionsCommand.shown).")
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
        static let configuration = CommandConfiguration(abstract: "Show all that is known about a session.")

        @Argument(
            help: ArgumentHelp("The session's handle, the first word of its line in the list.", valueName: "handle")
        )
        var handle: String

        @OptionGroup var operators: OperatorOptions

        func run() throws {
            var isThere = false
            try self.operators.forEach { gateway throws(AdminProbe.Failure) in
                let answer = try gateway.find("GET", "/sessions/\(PercentCoding.encoded(self.handle))")
                guard let body = answer?.body else { return }
                isThere = true
                Console.say(OperatorSession(JSONText.decode(Array(body.utf8)) ?? .null)?.text ?? body)
            }
            if !isThere { throw SessionsCommand.nobody(self.handle) }
        }
    }

    struct End: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a session, or sign users out.",
            discussion: """
                Signing out a user ends all of the user's sessions, including new ones that are not listed yet. Without a \
                user, --provider signs out all users of that provider, and --all signs out everybody.

                Without --all, the exit status is 2 if no session matches, so that a mistyped name does not look like a \
                sign-out.
                """
        )

        @Argument(help: ArgumentHelp("The handle of one session.", valueName: "handle"))
        var handle: String?

        @OptionGroup var choice: Choice
        @OptionGroup var operators: OperatorOptions

        @Flag(help: "Sign everybody out.")
        var all = false

        @Flag(help: "Only show what would end.")
        var dryRun = false

        @Flag(help: "Exit with status 0 even if no session matches.")
        var ignoreNotFound = false

        func validate() throws {
            let isChoice = !self.choice.query.isEmpty
            guard [self.handle != nil, isChoice, self.all].count(where: { $0 }) == 1 else {
                throw ValidationError("Use one of: a handle, --email, --subject, --provider, --all.")
            }
        }

        func run() throws {
            var hasMatch = false
            try self.operators.forEach { gateway throws(AdminProbe.Failure) in
                if try self.end(at: gateway) { hasMatch = true }
            }
            guard !hasMatch else { return }
            guard !self.all else { return Console.say("nobody is signed in") }
            let nobody = SessionsCommand.nobody(self.handle ?? self.choice.words)
            if !self.ignoreNotFound { throw nobody }
        }

        /// Ends the selected sessions. Returns true if there were any.
        private func end(at gateway: OperatorOptions.Gateway) throws(AdminProbe.Failure) -> Bool {
            guard let handle = self.handle else { return try self.signOut(at: gateway) }
            let path = "/sessions/\(PercentCoding.encoded(handle))"
            guard let body = try gateway.find(self.dryRun ? "GET" : "DELETE", path)?.body else { return false }
            Console.say(
                self.dryRun ? OperatorSession(JSONText.decode(Array(body.utf8)) ?? .null)?.line ?? body : "ended"
            )
            return true
        }

        /// Signs out the selected users. Returns true if they had sessions. Without `--dry-run`, the user in
        /// `--subject` is signed out even if no session is listed, because a new session may not be listed yet.
        private func signOut(at gateway: OperatorOptions.Gateway) throws(AdminProbe.Failure) -> Bool {
            let named = self.choice.subject.map { [$0, self.choice.provider ?? ""] }
            var (seen, done): (Set<String>, Set<[String]>) = ([], [])
            var isOneOut = false
            // New sessions may appear while the list is read, or a moment later.
            for pass in 0..<Self.passes {
                // The handles of each user's sessions, by subject and provider.
                var users: [[String]: [String]] = [:]
                if pass == 0, let named { users[named] = [] }
                try SessionsCommand.forEach(self.choice.query, at: gateway) { session in
                    let user = named ?? [session.subject, session.provider ?? ""]
                    guard !done.contains(user) else { return true }
                    seen.insert(session.handle)
                    users[user, default: []].append(session.handle)
                    if self.dryRun { Console.say(session.line) }
                    return true
                }
                if self.dryRun {
                    if !seen.isEmpty { Console.say("would sign out \(Self.words(users.count, seen.count))") }
                    return !seen.isEmpty
                }
                if users.isEmpty { break }
                if try Self.signOut(users, after: &done, of: seen.count, at: gateway) { isOneOut = true }
            }
            if isOneOut { Console.say("signed out \(Self.words(done.count, seen.count))") }
            return isOneOut
        }

        /// How often to read the list at most. It is read again until it contains no new users.
        private static let passes = 3

        /// Signs out users, and adds those signed out to `done`.
        ///
        /// - Returns: True if any session ended, or if a listed session was already gone.
        private static func signOut(
            _ users: [[String]: [String]],
            after done: inout Set<[String]>,
            of sessions: Int,
            at gateway: OperatorOptions.Gateway
        ) throws(AdminProbe.Failure) -> Bool {
            let all = done.count + users.count
            var failure: AdminProbe.Failure?
            var isOneOut = false
            for (user, handles) in users {
                do throws(AdminProbe.Failure) {
                    if try self.signOut(user, handles, at: gateway) { isOneOut = true }
                    done.insert(user)
                } catch {
                    failure = error
                    // A gateway that does not answer is not asked again.
                    guard error.status != nil else { break }
                }
            }
            guard let failure else { return isOneOut }
            Console.complain("only \(done.count) of \(self.words(all, sessions)) are signed out")
            throw failure
        }

        /// Signs out one user. Ends the sessions one by one if their provider is no longer configured.
        ///
        /// - Returns: True if any session ended, or if a listed session was already gone.
        private static func signOut(
            _ user: [String],
            _ handles: [String],
            at gateway: OperatorOptions.Gateway
        ) throws(AdminProbe.Failure) -> Bool {
            var query = [(name: "subject", value: user[0])]
            if !user[1].isEmpty { query.append(("provider", user[1])) }
            do throws(AdminProbe.Failure) {
                let answer = try gateway.find("DELETE", "/sessions?\(FormText.encoded(query))")
                return answer != nil || !handles.isEmpty
            } catch {
                guard error.status == 400, !handles.isEmpty else { throw error }
                for handle in handles { _ = try gateway.find("DELETE", "/sessions/\(PercentCoding.encoded(handle))") }
                return true
            }
        }

        private static func words(_ users: Int, _ sessions: Int) -> String {
            "\(users) \(users == 1 ? "user" : "users") of \(sessions) \(sessions == 1 ? "session" : "sessions")"
        }
    }

    /// Prints that no session matches. Returns exit status 2, which has no other meaning.
    fileprivate static func nobody(_ words: String) -> ExitCode {
        Console.complain("no session matches \(words.printable)")
        return ExitCode(2)
    }

    /// The number of sessions that a list shows by default.
    fileprivate static let shown = 100

    /// Calls `body` with each session until it returns false. Returns true if no session was left out.
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

/// A session as the admin listener describes it.
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

    /// The session as a line in a list.
    var line: String {
        let user = self.members["email"]?.string.map { "\($0) (\(self.name))" } ?? self.name
        let place = self.members["host"]?.string ?? self.members["client_id"]?.string ?? "native app"
        return [
            self.handle, user, place, self.members["address"]?.string ?? "-",
            "since \(self.members["issued_at"]?.string ?? "-")", "seen \(self.members["last_seen_at"]?.string ?? "-")",
        ].map(\.printable).joined(separator: "  ")
    }

    private var name: String { self.provider.map { "\(self.subject) of \($0)" } ?? self.subject }

    /// All that is known about the session, one member per line.
    var text: String {
        self.members.sorted { $0.key < $1.key }.map { name, value in
            "\(name): \((value.string ?? String(decoding: JSONText.encode(value), as: UTF8.self)).printable)"
        }.joined(separator: "\n")
    }
}

extension String {
    /// The text with `?` instead of characters that could control the terminal. Users may choose their own names.
    fileprivate var printable: String {
        let hidden: Set<Unicode.GeneralCategory> = [.control, .format, .lineSeparator, .paragraphSeparator]
        return String(
            String.UnicodeScalarView(
                self.unicodeScalars.map { hidden.contains($0.properties.generalCategory) ? "?" : $0 }
            )
        )
    }
}
