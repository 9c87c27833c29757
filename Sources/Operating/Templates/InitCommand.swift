import ArgumentParser
import Cryptography
import Glibc
import Settings
import Vocabulary

/// `sallyport init`: writes a first settings file, and its secrets to separate files.
struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write a settings file with comments, the secret and, with --users, a first user.",
        discussion: """
            Existing files are never overwritten. The settings are valid as they are; `sallyport check` explains them.
            """
    )

    enum Provider: String, EnumerableFlag {
        case users, oidc, kratos

        static func help(for value: Provider) -> ArgumentHelp? {
            switch value {
            case .users: "Users in a file, for trials and for a few people on this machine (the default)."
            case .oidc: "Users of an OpenID provider."
            case .kratos: "Users of Ory Kratos."
            }
        }
    }

    @Flag var provider = Provider.users

    @Option(help: ArgumentHelp("The directory for the files.", valueName: "directory"), completion: .directory)
    var directory = "."

    @Option(
        name: .customLong("public-url"),
        help: ArgumentHelp("The URL that browsers use for the gateway.", valueName: "URL")
    )
    var publicURL = "http://localhost:8080"

    @Option(help: ArgumentHelp("The app behind the gateway.", valueName: "URL"))
    var upstream = "http://127.0.0.1:3000"

    @Option(help: ArgumentHelp("With --users: what the first user types at sign-in.", valueName: "name"))
    var user = "admin@example.com"

    @Option(help: ArgumentHelp("With --oidc: the provider's issuer.", valueName: "URL"))
    var issuer = "https://id.example.com"

    @Option(
        name: .customLong("client-id"),
        help: ArgumentHelp("With --oidc: the gateway's client id there.", valueName: "id")
    )
    var clientID = "sallyport"

    @Option(help: ArgumentHelp("With --kratos: the public URL of Kratos.", valueName: "URL"))
    var kratosURL = "http://127.0.0.1:4433"

    func validate() throws {
        guard UserIdentifier(self.user) != nil else {
            throw ValidationError("--user must be 1 to \(UserIdentifier.longest) bytes without control characters.")
        }
    }

    func run() throws {
        try PrivateFileFailure.reported {
            let password = Random.base64URL(12)
            let files = self.files(password: password)
            for (name, _, _) in files where self.isThere(self.path(name)) {
                throw PrivateFileFailure("\(self.path(name)) exists already: nothing is written")
            }
            // Nothing is written if the options make invalid settings.
            try self.judge(files)
            if mkdir(self.directory, 0o755) != 0, errno != EEXIST { throw PrivateFileFailure.system(self.directory) }
            var made: [String] = []
            do {
                for (name, content, mode) in files {
                    try PrivateFile.make(at: self.path(name), with: Array(content.utf8), mode: mode)
                    made.append(self.path(name))
                }
            } catch {
                // Files that are left behind would make the next call fail.
                for path in made { unlink(path) }
                throw error
            }
            for (name, _, mode) in files {
                Console.say("made \(self.path(name))\(mode == 0o600 ? ", which only you can read" : "")")
            }
            Console.say(self.next(password))
        }
    }

    /// True if the path exists, even as a link to a missing file.
    private func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The public URL in its canonical form, as in the callback that is sent to the provider.
    private var origin: String { PublicURL(self.publicURL)?.description ?? self.publicURL }

    /// The address to listen on: the port in a public URL with plain http on this machine, otherwise the default.
    private var listen: String {
        guard let url = PublicURL(self.publicURL), !url.isHTTPS, url.isLoopback else { return "127.0.0.1:8080" }
        return "\(url.host.hasPrefix("[") ? url.host : "127.0.0.1"):\(url.port ?? 80)"
    }

    /// The admin listener's address. Not the default port, because Prometheus may use it on this machine.
    private var adminListen: String { "127.0.0.1:\(self.listen.hasSuffix(":9091") ? 9095 : 9091)" }

    private func path(_ name: String) -> String { self.directory == "." ? name : "\(self.directory)/\(name)" }

    private func judge(_ files: [(name: String, content: String, mode: mode_t)]) throws {
        let contents = Dictionary(uniqueKeysWithValues: files.map { ("/\($0.name)", Array($0.content.utf8)) })
        let source = SettingsFiles(
            read: { path, _ throws(SettingsFiles.Fault) in
                guard let bytes = contents[path] else { throw SettingsFiles.Fault.absent }
                return bytes
            },
            isReadable: { contents[$0] != nil }
        )
        do throws(SettingsFailure) {
            _ = try SettingsLoader.load(
                file: "/sallyport.yaml",
                environment: [:],
                flags: InsecureFlags(),
                files: source,
                judges: .gateway
            )
        } catch {
            throw PrivateFileFailure(
                "these settings would be refused; nothing is written:\n"
                    + error.problems.map { "  \(Self.line($0))" }.joined(separator: "\n")
            )
        }
    }

    /// The command's options, by the settings that they set.
    private static let options = [
        "public_url": "--public-url", "upstream": "--upstream", "provider.oidc.issuer": "--issuer",
        "provider.oidc.client_id": "--client-id", "provider.kratos.public_url": "--kratos-url",
    ]

    /// Returns a problem as a line that names the command's option.
    private static func line(_ problem: SettingsProblem) -> String {
        let place = problem.key.isEmpty ? "\(problem.origin)" : "\(problem.origin): \(problem.key)"
        let finding = problem.description.trimmingPrefix(place)
        return (self.options[problem.key] ?? (problem.key.isEmpty ? "the settings" : problem.key)) + finding
    }

    private func files(password: String) -> [(name: String, content: String, mode: mode_t)] {
        var files: [(name: String, content: String, mode: mode_t)] = [
            ("sallyport.yaml", self.settings, 0o644),
            ("secret", String(decoding: SecretFile(.generated(besides: [])).bytes, as: UTF8.self), 0o600),
        ]
        switch self.provider {
        case .users:
            let hash = Scrypt.hash(password: Array(password.utf8)).bytes
            let entry = UserEntry.text(of: self.user, hash: String(decoding: hash, as: UTF8.self), groups: ["admins"])
            files.append(
                ("users.yaml", "# More users: sallyport hash-password --user NAME >> users.yaml\n\(entry)\n", 0o600)
            )
        case .oidc:
            files.append(("client-secret", "replace-this-with-the-secret-of-the-client\n", 0o600))
        case .kratos: break
        }
        return files
    }

    /// Returns a text as a quoted YAML string.
    private static func quoted(_ text: String) -> String {
        String(decoding: JSONText.encode(.string(text)), as: UTF8.self)
    }

    private var settings: String {
        """
        # Settings of Sallyport. `sallyport check sallyport.yaml` explains them. Every other key has a default:
        # Config/sallyport.reference.yaml shows them all.

        # The URL that browsers use for the gateway. Cookies, redirects and tokens are made from it.
        public_url: \(Self.quoted(self.origin))

        # Where it listens. Behind a proxy on another machine: "0.0.0.0:8080", and the proxy's address in trusted_proxies.
        listen: \(Self.quoted(self.listen))
        # trusted_proxies: [127.0.0.1]

        # Health, readiness and metrics, for this machine only. The default port, 9090, is also that of Prometheus.
        admin:
          listen: \(Self.quoted(self.adminListen))

        # The app behind the gateway.
        upstream: \(Self.quoted(self.upstream))

        # All keys are made from it. Without it every session ends with the process. All gateways of one store share it.
        secret_file: secret

        # Where users sign in.
        provider:
        \(self.providerLines)

        # The paths, and whether they need a session. The most specific path wins.
        routes:
          - path: /**
          # - path: /assets/**
          #   auth: public            # no session
          # - path: /admin/**
          #   require: {groups_any: [admins]}

        # Several gateways, or sessions that survive a restart, need Redis:
        # store:
        #   redis:
        #     url_file: redis-url     # rediss://user:password@host:6379

        """
    }

    private var providerLines: String {
        switch self.provider {
        case .users:
            """
              static:
                users_file: users.yaml      # on loopback only, unless --insecure-static-users allows more
            """
        case .oidc:
            """
              oidc:
                # Register \(self.origin)/.sallyport/callback as redirect URI there.
                issuer: \(Self.quoted(self.issuer))
                client_id: \(Self.quoted(self.clientID))
                client_secret_file: client-secret
            """
        case .kratos:
            """
              kratos:
                public_url: \(Self.quoted(self.kratosURL))
            """
        }
    }

    /// The program's name as it was called, for commands to paste.
    private static var program: String {
        CommandLine.arguments.first.flatMap { $0.contains("/") ? $0 : nil } ?? "sallyport"
    }

    private func next(_ password: String) -> String {
        let file = self.path("sallyport.yaml")
        let check = self.provider == .users ? "" : "\n  \(Self.program) check --network \(file)"
        let note =
            switch self.provider {
            case .users: "Open \(self.origin)/ and sign in as \(self.user) with the password \(password)"
            case .oidc:
                "Write the client's secret to \(self.path("client-secret")), and register \(self.origin)/.sallyport/callback at the provider"
            case .kratos: "Kratos must allow \(self.origin) in selfservice.allowed_return_urls"
            }
        return "\nNext:\(check)\n  \(Self.program) run \(file)\n\(note)"
    }
}
