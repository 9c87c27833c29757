import AddressIntelligence
import ArgumentParser
import Cryptography
import Endpoints
import NIOCore
import Observability
import Pages
import RequestPath
import Sessions
import Settings
import SignOn
import Vocabulary

/// `sallyport explain`: prints what the gateway would do with a request, without sending one.
struct ExplainCommand: WiredCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract:
            "Print what the gateway would do with a request: normalized path, route, decision, headers to the app.",
        discussion: """
            Nothing is sent to a running gateway, to Redis or to the provider, so only the form of a token is checked. \
            --user and --claims assume a live session of a user. --event applies the rules to an event instead, and \
            --session finds out from log lines what happened to a session. A session-transfer token in --token-file is \
            put into the request's cookie or query. With --network, Redis is asked what would happen to that token, \
            without using it up, or when the provider last confirmed the user of --session.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument
    @OptionGroup var insecure: InsecureOptions

    @Option(help: ArgumentHelp("The URL as a client requests it. The path is used byte for byte.", valueName: "url"))
    var url: String?

    @Option(
        help: ArgumentHelp(
            "Instead of a request: show which rules apply to the event in this JSON file (- for standard input).",
            valueName: "file"
        ),
        completion: .file()
    )
    var event: String?

    @Option(
        help: ArgumentHelp(
            "Instead of a request: show what happened to the session with this fingerprint or id in the logs. Needs --log.",
            valueName: "fingerprint"
        )
    )
    var session: String?

    @Option(
        help: ArgumentHelp(
            "A file with the standard output of gateways (- for standard input). Repeatable, for several gateways.",
            valueName: "file"
        ),
        completion: .file()
    )
    var log: [String] = []

    @Option(help: ArgumentHelp("The method of the request.", valueName: "method"))
    var method = "GET"

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp("A header field, e.g. 'Accept: text/html'. Repeatable.", valueName: "field")
    )
    var headers: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file with a bearer token or a session-transfer token for the request (- for standard input).",
            valueName: "file"
        ),
        completion: .file()
    )
    var tokenFile: String?

    @Flag(
        help:
            "Also ask the configured Redis what would happen to the session-transfer token in --token-file, or about --session."
    )
    var network = false

    @Option(
        help: ArgumentHelp(
            "Assume a live session of this user of the static provider: a bearer token with --token-file, otherwise a cookie.",
            valueName: "identifier"
        )
    )
    var user: String?

    @Option(
        help: ArgumentHelp(
            "Assume a live session of the provider's user with the claims in this JSON file, as in an id_token (- for standard input).",
            valueName: "file"
        ),
        completion: .file()
    )
    var claims: String?

    @Option(
        help: ArgumentHelp(
            "The provider of the user in --user or --claims, on a host with several providers.",
            valueName: "name"
        )
    )
    var provider: String?

    @Option(help: ArgumentHelp("The address that the request comes from.", valueName: "address"))
    var from = "127.0.0.1"

    @Option(
        help: ArgumentHelp(
            "Assume that the client has presented this certificate in the TLS handshake: a file in PEM or DER.",
            valueName: "file"
        ),
        completion: .file()
    )
    var clientCertificate: String?

    @Flag(
        name: .customLong("http2"),
        help:
            "Explain an HTTP/2 request. Pseudo-fields are given like other fields, e.g. ':protocol: websocket' with CONNECT."
    )
    var usesHTTP2 = false

    @Option(
        help: ArgumentHelp(
            "Show the answer to a proxy that asks about the request. One of \(ProxyKind.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "proxy"
        )
    )
    var via: ProxyKind?

    func run(with wiring: GatewayWiring) async throws {
        let story = try self.session.map(self.printStory)
        guard story == nil || self.network else { return }
        do {
            let loaded = try self.options.naming(self.named).load(self.insecure.flags)
            let draft = try wiring.draft(loaded)
            if let story { return self.say("provider", await self.lastWord(about: story, wiring, draft)) }
            if let fault = self.via?.fault(in: loaded.settings) { throw Console.failure(fault) }
            if let event = self.event { return try self.tryRules(on: event, draft, loaded.settings) }
            let explanation = try await self.explanation(draft, loaded.settings)
            for step in explanation.steps { self.say(step.title, step.lines) }
            if let request = explanation.handoff, self.tokenFile != nil {
                let trial = TransferTrial(wiring: wiring, draft: draft, usesNetwork: self.network)
                self.say("transfer token", await trial.lines(request))
            }
            if let via = self.via, let (host, route) = explanation.granted, let plan = draft.plan(for: via) {
                self.say("what the app gets from the proxy", plan.forwarded(on: host, by: route))
            }
            if explanation.leadsToSignIn { self.say("sign-in", try self.signIn(loaded.settings)) }
        } catch let failure as SettingsFailure {
            throw Console.failure("invalid settings:\n\(failure)")
        } catch let refusal as StartRefusal {
            throw Console.failure(refusal.description)
        }
    }

    func validate() throws {
        try self.named.validate(besides: self.options)
        guard [self.url, self.event, self.session].count(where: { $0 != nil }) == 1 else {
            throw ValidationError("Use --url or --event, or --session with --log.")
        }
        guard (self.session == nil) == self.log.isEmpty else {
            throw ValidationError("--session needs --log, and --log needs --session.")
        }
        guard self.via == nil || self.url != nil else { throw ValidationError("--via needs --url.") }
        guard self.clientCertificate == nil || self.url != nil && self.via == nil else {
            throw ValidationError("--client-certificate needs --url; with --via the connection is the proxy's.")
        }
        guard !self.usesHTTP2 || self.url != nil && self.via == nil else {
            throw ValidationError("--http2 needs --url; with --via the proxy asks in HTTP/1.1.")
        }
        let isName = self.session.map { Fingerprint($0) != nil || $0.hasPrefix("ses_") } ?? true
        guard isName else {
            // Logs contain no tokens, so a token would match nothing.
            throw ValidationError("--session must be a fingerprint of ten characters, or an id that begins with ses_.")
        }
    }

    private func printStory(of session: String) throws -> SessionStory {
        let logs = try self.log.map { try Self.content(of: $0, "--log") }
        let story = SessionStory(of: session, in: logs)
        guard !story.isEmpty else {
            throw Console.failure("no log line is about \(session)")
        }
        Console.say(story.text)
        return story
    }

    /// Returns lines about the provider's last confirmation of the user of a session.
    private func lastWord(about story: SessionStory, _ wiring: GatewayWiring, _ draft: Draft) async -> [String] {
        guard draft.settings.store.isShared else {
            return ["this command cannot see the memory of the gateway, which is another process"]
        }
        return await StoreQuestion(wiring: wiring, draft: draft).lines { records in
            let grants = ProviderGrants(records: records, journal: GrantJournal { _, _ in })
            for subject in story.subjects {
                if let word = try await grants.lastWord(about: story.names, of: subject) { return [word.text] }
            }
            return ["the session has ended, or no client follows its provider"]
        }
    }

    private func tryRules(on file: String, _ draft: Draft, _ settings: Settings) throws {
        let trial = RuleTrial(rules: settings.rules, places: draft.geo, numbers: draft.asn)
        let content = try Self.content(of: file, "--event")
        do throws(JSONFault) {
            for step in try trial.steps(of: content) { self.say(step.title, step.lines) }
        } catch {
            throw ValidationError("The file of --event must contain a JSON object, the event; it \(error.rawValue).")
        }
    }

    private func explanation(_ draft: Draft, _ settings: Settings) async throws -> Explanation {
        guard let peer = IPAddress(self.from) else { throw ValidationError("--from must be an IP address.") }
        let certificate = try self.certificate()
        var request = try ExplainedRequest(url: self.url ?? "", method: self.method, headers: self.headers)
        if self.usesHTTP2 {
            let place = request.http2Place(in: settings)
            let addresses = place.addresses.map { "\($0)" }.joined(separator: ", ")
            self.say("HTTP/2", [addresses.isEmpty ? "no address of listen accepts it" : "accepted at \(addresses)"])
            request.http2 = place
        }
        let host = draft.configuration.routes.host(named: request.authority)
        let presented = try self.token()
        let isTransfer = presented.map { TokenAuthority.isWellFormed(.transfer, $0) } ?? false
        let token = isTransfer ? nil : presented
        let chosen = try self.provider(of: request, settings)
        if settings.providers.count > 1 { self.say("provider", [chosen?.name ?? "none"]) }
        let isNative = token != nil || chosen?.settings.signsIn == false
        let user = try self.assumedUser(chosen, isNative ? nil : AccountLinks(settings))
        let assumed = try user.map { user in
            try AssumedSession(
                of: user,
                isNative: isNative,
                authority: host?.publicURL.authority ?? request.authority.lowercased(),
                settings,
                draft.records,
                Explanation.device(of: request.bytes, from: peer, configuration: draft.configuration)
            )
        }
        if let assumed, let chosen {
            let findings = draft.unfit(Realm(chosen.name), assumed.session)
            if !findings.isEmpty { self.say("identity", findings) }
        }
        if let token { self.noteForm(of: token, isAssumed: assumed != nil, settings, draft, chosen) }
        if isNative, let bearer = assumed?.token ?? token.map({ String(decoding: $0, as: UTF8.self) }) {
            request.headers.append("Authorization: Bearer \(bearer)")
        } else if let assumed {
            let reach: CookieScope = self.url?.lowercased().hasPrefix("https:") == true ? .site : .plain
            let cookie = SessionCookie(name: settings.session.cookieName, reach: host?.settings.cookieReach ?? reach)
            request.add(cookie: "\(cookie.name)=\(assumed.token)")
        }
        guard isTransfer, let presented else {
            return try await self.explanation(of: request, peer, certificate, assumed, draft)
        }
        let text = String(decoding: presented, as: UTF8.self)
        var byCookie = request
        byCookie.add(cookie: "\(settings.handoff.cookieNames.first ?? "session_transfer_token")=\(text)")
        let explanation = try await self.explanation(of: byCookie, peer, certificate, assumed, draft)
        guard explanation.handoff == nil else { return explanation }
        // The route's client does not accept a token in a cookie.
        request.add(parameter: "\(settings.handoff.queryParameter)=\(text)")
        return try await self.explanation(of: request, peer, certificate, assumed, draft)
    }

    private func explanation(
        of request: ExplainedRequest,
        _ peer: IPAddress,
        _ certificate: ClientCertificate?,
        _ assumed: AssumedSession?,
        _ draft: Draft
    ) async throws -> Explanation {
        let configuration = draft.configuration
        let head: [UInt8]
        switch request.read(by: configuration) {
        case .read(let bytes): head = bytes
        case .refused(let explanation): return explanation
        }
        let records = draft.records
        let loop = records.loops.any()
        let via = self.via?.checkPath
        return try await loop.flatSubmit { [assumed] () -> EventLoopFuture<Explanation> in
            let now = records.clock.now()
            let found: EventLoopFuture<CachedSession?>
            let resolver = SessionResolver(
                loop: loop,
                cache: SessionCache(),
                store: records.store,
                authority: records.authority,
                clock: records.clock
            )
            let resolution = assumed.map { assumed in
                Array(assumed.token.utf8).withUnsafeBytes { resolver.resolve(assumed.kind, token: $0, now: now) }
            }
            if case .miss(let read) = resolution {
                found = read.future
            } else {
                found = loop.assumeIsolated().makeSucceededFuture(nil)
            }
            return found.assumeIsolated().map { session in
                _ = resolver
                return Explanation(
                    of: head,
                    from: peer,
                    session: session,
                    authority: records.authority,
                    configuration: configuration,
                    now: now,
                    certificate: certificate,
                    via: via
                )
            }.nonisolated()
        }.get()
    }

    private func say(_ title: String, _ lines: [String]) {
        Console.say("\(title)\n\(lines.map { "  \($0)" }.joined(separator: "\n"))")
    }

    // MARK: Values of the options

    private func token() throws -> [UInt8]? {
        guard let file = self.tokenFile else { return nil }
        if let token = Console.readToken(file) { return token }
        throw ValidationError("The file of --token-file cannot be read.")
    }

    /// Returns the provider of the assumed user: the provider in `--provider`, or the host's first provider that fits
    /// `--user` or `--claims`, or the host's first provider.
    private func provider(of request: ExplainedRequest, _ settings: Settings) throws -> NamedProvider? {
        let all = Self.providers(of: request, settings)
        if let name = self.provider {
            guard let named = all.first(where: { $0.name == name }) else {
                throw ValidationError("--provider must be a provider of the host.")
            }
            return named
        }
        let fitting = all.first { provider in
            let settings = provider.settings
            if self.user != nil { return settings is FixedUsersSettings }
            return self.claims == nil || settings.claimMapping != nil
        }
        return fitting ?? all.first
    }

    /// Returns the providers of the requested host.
    private static func providers(of request: ExplainedRequest, _ settings: Settings) -> [NamedProvider] {
        let host = SignInHosts(settings.hosts).host(request.authority.lowercased())
        let all = (host?.providers ?? []).compactMap { name in settings.providers.first { $0.name == name } }
        return all.isEmpty ? Array(settings.providers.prefix(1)) : all
    }

    private func noteForm(
        of token: [UInt8],
        isAssumed: Bool,
        _ settings: Settings,
        _ draft: Draft,
        _ provider: NamedProvider?
    ) {
        guard draft.records.authority.key(.session, of: token) == nil else {
            let place =
                settings.store.isShared
                ? "\(settings.store.title) is not asked whether the token's session exists"
                : "this command cannot see whether the token's session exists: it is in the memory of the gateway, another process"
            if !isAssumed { self.say("note", ["\(place); --user assumes a session"]) }
            return
        }
        let known = draft.parties.foreignTokens.first { $0.realm.name == provider?.name }
        let isForeign = token.withUnsafeBytes { known?.tokens.key(of: $0, as: .native) } != nil
        self.say(
            "note",
            [
                isForeign
                    ? "only the provider can verify the token, and it is not asked; --claims assumes that the token is valid"
                    : "the token does not have the form of a session token made with this secret"
            ]
        )
    }

    /// Reads the client's certificate; `nil` without `--client-certificate`.
    private func certificate() throws -> ClientCertificate? {
        guard let file = self.clientCertificate else { return nil }
        guard let certificate = ClientCertificate(file: try Self.content(of: file, "--client-certificate")) else {
            throw ValidationError("The file of --client-certificate contains no certificate in PEM or DER.")
        }
        let names = certificate.names.map(\.text).joined(separator: ", ")
        self.say(
            "client certificate",
            [
                "subject  \(certificate.subject.isEmpty ? "none" : certificate.subject)",
                "names    \(names.isEmpty ? "none" : names)", "issuer   \(certificate.issuer)",
                "sha256   \(certificate.sha256.hexadecimal)",
            ]
        )
        return certificate
    }

    private static func content(of file: String, _ option: String) throws -> [UInt8] {
        if let bytes = Console.read(file, atMost: .max) {
            // Some editors write a byte order mark.
            return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        }
        throw ValidationError("The file of \(option) cannot be read.")
    }

    /// Returns the user of the assumed session; `nil` without `--user` and `--claims`, or if the user may not sign in.
    private func assumedUser(_ provider: NamedProvider?, _ links: AccountLinks?) throws -> AssumedUser? {
        guard self.user == nil || self.claims == nil else { throw ValidationError("Use --user or --claims, not both.") }
        if let user = self.user { return try AssumedUser(named: user, provider) }
        guard let file = self.claims else { return nil }
        let document = try Self.content(of: file, "--claims")
        do {
            return try AssumedUser.with(claims: document, provider, links)
        } catch let refusal as AssumedUser.Refusal {
            self.say("sign-in", ["refused: \(refusal.words)"])
            return nil
        }
    }

    /// Describes where and how users sign in.
    private func signIn(_ settings: Settings) throws -> [String] {
        let request = try ExplainedRequest(url: self.url ?? "", method: self.method, headers: [])
        let name = request.authority.lowercased()
        let hosts = SignInHosts(settings.hosts)
        guard let place = hosts.signInHost(of: name) ?? hosts.host(name) else { return ["on no host with endpoints"] }
        var lines =
            place.authority == name ? [] : ["the browser goes to \(place.origin), which sends it back with a ticket"]
        let providers = Self.providers(of: request, settings)
        let ways = providers.filter(\.settings.signsIn)
        if place.providers.count > 1, ways.count > 1 {
            lines.append("that page offers \(ways.map(\.name).joined(separator: ", "))")
        }
        for way in ways { lines += Self.lines(of: way, on: place, isOnly: ways.count == 1, settings.pages) }
        if ways.isEmpty { lines.append("nobody can sign in: no configured provider has a sign-in for browsers") }
        return lines
    }

    /// Describes how users of one provider sign in.
    private static func lines(
        of way: NamedProvider,
        on place: SignInHosts.Host,
        isOnly: Bool,
        _ pages: PageDesign
    ) -> [String] {
        let page = isOnly ? "that page" : "for \(way.name) it"
        var lines: [String] = []
        if let step = way.settings.signInStep { lines.append("\(page) \(step)") }
        if way.settings.redirects {
            let path = BrowserSessionEndpoints.callbackPath(of: place.providers.count > 1 ? way.name : nil, by: pages)
            lines.append("the provider sends it back to \(place.origin)\(path)")
        }
        return lines
    }
}
