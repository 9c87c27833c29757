import AddressIntelligence
import ArgumentParser
import Calls
import Providers
import Settings
import Transport
import Vocabulary

/// `sallyport check`: validates the settings and prints what they mean.
struct CheckCommand: WiredCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract:
            "Validate the settings and print their effective values, without secrets. The exit status is 0 if they are valid, otherwise 1.",
        discussion: """
            Without --network it makes no connections. With --network it connects to the Redis in store.redis and to the \
            provider, as the gateway would, and prints one finding per line; an error makes the exit status 1. With Redis it \
            also lists the clients that operators have changed at run time. Nobody is signed in: the provider gets a code and \
            a token that do not exist.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument
    @OptionGroup var insecure: InsecureOptions

    @Flag(help: "Print only the verdict, the problems and the warnings.")
    var quiet = false

    @Flag(help: "Print only those settings that the file or a variable changes from the default.")
    var changed = false

    @Flag(help: "Also connect to the configured Redis and to the provider, and report problems.")
    var network = false

    @Flag(
        help:
            "Check the settings without the files that they refer to, such as secrets. For pipelines that do not have them."
    )
    var withoutFiles = false

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp(
            "Print only the configuration for a proxy that asks at authorization.listen, made from these settings: \(ProxyKind.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "proxy"
        )
    )
    var proxy: ProxyKind?

    func validate() throws {
        try self.named.validate(besides: self.options)
        guard !self.network || !self.withoutFiles else {
            throw ValidationError("--network needs the files: remove --without-files.")
        }
    }

    func run(with wiring: GatewayWiring) async throws {
        let loaded: LoadedSettings
        let draft: Draft
        do {
            loaded = try self.options.naming(self.named).load(self.insecure.flags, lacksFiles: self.withoutFiles)
            draft = try wiring.draft(loaded)
        } catch let failure as SettingsFailure {
            Console.say(self.options.report(failure, named: self.named))
            throw ExitCode.failure
        } catch {
            Console.say("invalid: the gateway cannot start")
            for line in "\(error)".split(separator: "\n") { Console.say("  \(line)") }
            throw ExitCode.failure
        }
        if let proxy {
            if self.withoutFiles {
                Console.complain(
                    "# WARNING: ca_file, certificate_file and key_file of apps are left out because of --without-files."
                )
            }
            return try Self.sayConfiguration(of: proxy, loaded.settings, draft)
        }
        Console.say(
            self.withoutFiles ? "valid, except for the files that the settings refer to, which were not read" : "valid"
        )
        let followed = FollowedUsers(loaded.settings)
        self.say("warnings", loaded.warnings + draft.findings + followed.warnings)
        if !self.quiet { self.sayAll(loaded, draft, followed) }
        guard self.network else { return }
        let verdicts = try await self.verdicts(on: loaded.settings, followed, wiring)
        self.say(
            "network",
            verdicts?.map(Self.line) ?? ["nothing to connect to: the gateway keeps sessions and users itself"]
        )
        let isBroken = verdicts?.contains(where: { $0.level == .error }) ?? false
        // A verdict above already reports a store that cannot be reached.
        self.say("clients that differ from the file", (try? await ClientDrift.lines(loaded, wiring)) ?? [])
        if isBroken { throw ExitCode.failure }
    }

    /// Prints the configuration for a proxy that asks the gateway.
    private static func sayConfiguration(of proxy: ProxyKind, _ settings: Settings, _ draft: Draft) throws {
        if let fault = proxy.fault(in: settings) { throw Console.failure(fault) }
        guard let plan = draft.plan(for: proxy) else { return }
        if let fault = plan.fault { throw Console.failure(fault) }
        // Warnings go to standard error, so that a redirected configuration stays valid.
        for warning in plan.warnings { Console.complain("# WARNING: \(warning)") }
        Console.say(exactly: Array(proxy.configuration(plan).utf8))
    }

    /// Checks the store and the providers, and returns their verdicts; `nil` if there is nothing to connect to.
    private func verdicts(
        on settings: Settings,
        _ followed: FollowedUsers,
        _ wiring: GatewayWiring
    ) async throws -> [Verdict]? {
        var verdicts = try await wiring.checkStore(settings.store)
        let client = CallClient(group: try TransportGroup(count: 1))
        for provider in settings.providers {
            // This fails only if a file has changed since it was read with the settings.
            let transport = try client.transport(
                caFile: provider.settings.caFile,
                allowsPlainHTTP: provider.settings.allowsPlainHTTP,
                proxies: provider.proxies
            )
            let hosts = settings.hosts.filter { $0.providers.contains(provider.name) }
            let check = ProviderCheck(
                transport: transport,
                name: provider.name,
                hosts: hosts,
                isFollowed: followed.providers.contains(provider.name),
                pages: settings.pages,
                proxies: provider.proxies
            )
            guard let found = await check.run(provider.settings, by: wiring.checkProvider) else { continue }
            let isNamed = settings.providers.count > 1
            verdicts = (verdicts ?? []) + found.map { isNamed ? $0.of(provider.name) : $0 }
        }
        return verdicts
    }

    private func sayAll(_ loaded: LoadedSettings, _ draft: Draft, _ followed: FollowedUsers) {
        for host in loaded.settings.hosts {
            let users =
                loaded.settings.providers.count > 1
                ? ", for the users of \(host.providers.joined(separator: ", "))" : ""
            self.say("routes of \(host.publicURL)\(users)", host.routes.map { Self.line($0, on: host) })
            let hint = draft.wayBack(of: host).map { ["(\($0))"] } ?? []
            self.say("paths of \(host.publicURL) that the gateway answers itself", draft.ownPaths(of: host) + hint)
        }
        self.say("how clients' users are followed", followed.lines)
        self.say("listeners", Self.listeners(loaded.settings))
        if loaded.settings.strictTransport == nil, loaded.settings.listen.contains(where: \.isSecure) {
            self.say(
                "recommended",
                ["strict_transport_security: {max_age: 1d}, so that browsers use only https for these hosts"]
            )
        }
        if let tls = loaded.settings.tls {
            self.say("certificates", tls.certificates.compactMap { $0.facts.map(Self.line) })
        }
        let text = loaded.describe(changedOnly: self.changed)
        self.say(
            self.changed ? "settings that are not the default" : "settings",
            text.split(separator: "\n").map(String.init)
        )
    }

    private func say(_ title: String, _ lines: [String]) {
        guard !lines.isEmpty else { return }
        Console.say("\n\(title):")
        for line in lines { Console.say("  \(line)") }
    }

    /// Returns lines such as `0.0.0.0:443  TLS  h2, http/1.1  PROXY protocol from 10.0.0.0/16, others refused`
    private static func listeners(_ settings: Settings) -> [String] {
        var lines = (settings.listen + settings.management).map { listener in
            var words = ["\(listener.address)"]
            if listener.isSecure { words.append("TLS") }
            words.append(listener.protocols.map(\.rawValue).joined(separator: ", "))
            if listener.clientCertificates != .none {
                words.append("client certificates \(listener.clientCertificates.rawValue)")
            }
            if let url = listener.publicURL { words.append("operators at \(url)") }
            return words.joined(separator: "  ") + Self.proxies(listener)
        }
        if let redirect = settings.redirectListen {
            lines.append("\(redirect.address)  http/1.1  308 to https\(Self.proxies(redirect))")
        }
        if let authorization = settings.authorization {
            let certificate = authorization.peerCertificate == nil ? "" : " with a certificate"
            lines.append(Self.inner(authorization.listen, "checks of other proxies\(certificate)"))
        }
        if let admin = settings.adminListen { lines.append(Self.inner(admin, "operators")) }
        return lines
    }

    /// Returns a line such as `127.0.0.1:9090  TLS  http/1.1  operators`
    private static func inner(_ listener: ListenerSettings, _ purpose: String) -> String {
        "\(listener.address)\(listener.isSecure ? "  TLS" : "")  http/1.1  \(purpose)"
    }

    /// Returns the end of a line such as `  PROXY protocol from 10.0.0.0/16, others refused`
    private static func proxies(_ listener: ListenerSettings) -> String {
        guard let proxies = listener.proxyProtocol else { return "" }
        let peers = proxies.from.map(\.description).joined(separator: ", ")
        let others = proxies.others == .refuse ? "others refused" : "others without it"
        return "  PROXY protocol from \(peers), \(others)"
    }

    /// Returns a line such as `ok       127.0.0.1:6379 role: primary with 1 replica`
    private static func line(_ verdict: Verdict) -> String {
        let level = verdict.level.rawValue
        let space = String(repeating: " ", count: 9 - level.utf8.count)
        return "\(level)\(space)\(verdict.subject): \(verdict.finding)"
    }

    /// Returns a line such as `app.example.com, *.example.com: P-256, 89 days left`
    private static func line(_ facts: CertificateFacts) -> String {
        let names = facts.names + facts.addresses.map(\.description)
        return "\(names.joined(separator: ", ")): \(facts.key), \(facts.daysLeft(at: Clock.system.now())) days left"
    }

    /// Returns a line such as `/admin/**  GET, POST  auth required  require {aal: aal2}  -> app  (admin)`
    private static func line(_ route: RouteSettings, on host: HostSettings) -> String {
        let methods = route.methods.isEmpty ? "any method" : route.methods.joined(separator: ", ")
        var words = [route.path, methods, "auth \(route.auth.rawValue)"]
        if !route.require.isEmpty { words.append("require {\(route.require.written)}") }
        words.append("-> \(route.upstream ?? "no app: only for checks of other proxies")")
        if route.handoff, let client = route.client { words.append("handoff as \(client)") }
        if route.passesHandoffToApp { words.append("handoff left to the app") }
        if route.name != host.publicURL.authority + route.path { words.append("(\(route.name))") }
        return words.joined(separator: "  ")
    }
}
