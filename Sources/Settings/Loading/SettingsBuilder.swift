internal import AddressIntelligence
internal import Vocabulary

/// Makes the settings from values that are each valid, and checks that they fit together.
struct SettingsBuilder {
    let tree: SettingsTree
    let files: SettingsFiles
    let flags: InsecureFlags
    let judges: SettingsJudges
    /// Some value was refused already. A value that seems to be missing may be that one, so it is not reported again.
    let isPartial: Bool
    /// Whether clients are judged that an operator changes while the gateway runs.
    let isAtRunTime: Bool
    /// All variables of the process.
    let environment: [String: String]
    var problems: [SettingsProblem] = []
    var warnings: [String] = []
    /// Named apps, and those that routes name by a URL.
    var upstreams: [UpstreamSettings] = []
    /// The key of the provider that is being read, for messages.
    var providerKey = "provider"

    init(
        tree: SettingsTree,
        files: SettingsFiles,
        flags: InsecureFlags,
        judges: SettingsJudges,
        isPartial: Bool,
        isAtRunTime: Bool = false,
        environment: [String: String] = [:]
    ) {
        self.tree = tree
        self.files = files
        self.flags = flags
        self.judges = judges
        self.isPartial = isPartial
        self.isAtRunTime = isAtRunTime
        self.environment = environment
    }

    /// The settings; meaningless when there are problems.
    mutating func build() -> Settings {
        self.upstreams = self.namedUpstreams()
        let clients = self.clients()
        var hosts = self.hosts(clients: clients)
        let apis = self.apis(&hosts, clients: clients)
        var settings = Settings(hosts: hosts, upstreams: [])
        self.tree.set(.file, in: &settings)
        settings.clients = clients
        settings.apis = apis
        settings.allowsInsecureHTTP = self.flags.http
        self.setListeners(&settings)
        settings.operatorTokens = self.operatorTokens()
        self.setTrust(&settings)
        self.checkUnnamedProxy(settings)
        if self.callsOthers { settings.proxies = self.environmentProxies() }
        settings.providers = self.providers(settings)
        settings.nativeSocial = self.nativeSocial()
        self.check(settings.session)
        self.setExchange(&settings.exchange, settings.provider)
        self.setStore(&settings.store, hasSecret: settings.secrets != nil)
        self.check(settings.handoff, besides: settings.session)
        self.setIdentity(&settings.identity, providers: settings.providers.map(\.settings))
        self.checkAudiences(settings.identity)
        settings.asn = self.asn()
        settings.geo = self.geo()
        settings.rules = self.rules()
        self.checkBindings()
        self.checkSecretFiles()
        self.check(settings.limits)
        self.setLogs(&settings.logs)
        settings.pages = self.pages()
        self.setBodyLimits(&settings)
        settings.upstreams = self.upstreams
        return settings
    }

    /// Whether a provider is called over the network.
    private var callsOthers: Bool {
        self.tree["native_social"] != nil || self.tree["providers"] != nil
            || self.tree.tree("provider")?.entries.contains { $0.name != "static" } == true
    }

    // MARK: Problems and files

    mutating func report(
        _ origin: SettingsOrigin,
        _ key: String,
        found: String,
        allowed: String,
        mend: String
    ) {
        self.problems.append(
            SettingsProblem(origin: origin, key: key, found: found, allowed: allowed, mend: mend)
        )
    }

    /// A path for the process. A relative path in a file starts at that file's directory.
    func resolved(_ setting: Setting?) -> String? {
        guard let setting, case .text(let path) = setting.value else { return nil }
        guard !path.hasPrefix("/"), case .file(let file, _, _) = setting.origin, let slash = file.lastIndex(of: "/")
        else { return path }
        return String(file[...slash]) + path
    }

    /// The path of a file that can be opened.
    mutating func readablePath(_ name: String, of tree: SettingsTree, key: String, isSecret: Bool = false) -> String? {
        guard let setting = tree[name], let path = self.resolved(setting) else { return nil }
        if !self.files.isReadable(path) {
            self.report(
                setting.origin,
                "\(key).\(name)",
                found: "no readable file at \(isSecret ? setting.shown : quoted(path))",
                allowed: "the path of a file that can be read",
                mend: "check the path and the file's permissions"
            )
        }
        return path
    }

    /// The content of a secret's file without its trailing line end.
    mutating func secret(_ name: String, of tree: SettingsTree, key: String, minBytes: Int) -> Secret? {
        let allowed = "a file that holds \(minBytes) bytes or more"
        guard let setting = tree[name], var bytes = self.content(setting, key: key, allowed: allowed) else {
            return nil
        }
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard bytes.count >= minBytes else {
            let found = "a secret of \(bytes.count) bytes"
            self.report(setting.origin, key, found: found, allowed: allowed, mend: "write a longer one")
            return nil
        }
        return Secret(bytes)
    }

    /// The secrets from which every key is derived.
    private mutating func secrets() -> SecretRing? {
        let allowed = "a file with one secret a line, each of \(SecretFile.minBytes) bytes or more"
        guard let setting = self.tree["secret_file"],
            let bytes = self.content(setting, key: "secret_file", allowed: allowed)
        else { return nil }
        do throws(SecretFile.Fault) {
            return try SecretFile(bytes).ring
        } catch {
            self.report(setting.origin, "secret_file", found: error.found, allowed: allowed, mend: error.mend)
            return nil
        }
    }

    /// The content of `signing_key_file`, which only JOSE can judge further.
    private mutating func signingKeys() -> Secret? {
        let allowed = "a PEM file with one EC P-256 or RSA key or more"
        guard let setting = self.tree["signing_key_file"] else { return nil }
        return self.content(setting, key: "signing_key_file", allowed: allowed).map { Secret($0) }
    }

    /// The content of the file that `setting` names; nil when it cannot be read, which is reported.
    mutating func content(_ setting: Setting, key: String, allowed: String) -> [UInt8]? {
        guard let path = self.resolved(setting) else { return nil }
        do throws(SettingsFiles.Fault) {
            return try self.files.read(path, SecretFile.maxBytes)
        } catch {
            let found = "\(error.sentence) at \(setting.shown)"
            self.report(
                setting.origin,
                key,
                found: found,
                allowed: allowed,
                mend: "check the path and the file's permissions"
            )
            return nil
        }
    }

    // MARK: Listeners and trust

    private mutating func setListeners(_ settings: inout Settings) {
        if let elements = self.tree.list("listen") {
            settings.listen = elements.compactMap { element in
                guard case .address(let address) = element.value else { return nil }
                return address
            }
            if elements.isEmpty, let origin = self.tree["listen"]?.origin {
                self.report(
                    origin,
                    "listen",
                    found: "an empty list",
                    allowed: "one address or more",
                    mend: "add an address"
                )
            }
            for (index, address) in settings.listen.enumerated() {
                guard let earlier = settings.listen[..<index].first(where: address.overlaps) else { continue }
                self.report(
                    elements[index].origin,
                    "listen[\(index)]",
                    found: "\(address), but listen also has \(earlier)",
                    allowed: "each address once; an address that means every address excludes others on its port",
                    mend: "remove one, or choose another port"
                )
            }
        }
        let written = self.tree.tree("admin")?["listen"]
        if case .address(let admin)? = written?.value { settings.adminListen = admin }
        guard let admin = settings.adminListen else { return }
        if let other = settings.listen.first(where: admin.overlaps) {
            self.report(
                written?.origin ?? self.tree["listen"]?.origin ?? self.tree.origin,
                "admin.listen",
                found: "\(admin)\(written == nil ? " (the default)" : ""), but listen has \(other)",
                allowed: "an address and port that listen does not use",
                mend: "choose another port, e.g. admin.listen: \"127.0.0.1:\(admin.port == 9090 ? 9091 : 9090)\""
            )
        }
        if !admin.isLoopback {
            self.warnings.append("admin.listen is reachable from other machines and asks for no credentials")
        }
    }

    /// The tokens in `admin.tokens_file`.
    private mutating func operatorTokens() -> [OperatorToken] {
        let allowed = "a file with 1 to \(OperatorToken.most) lines of name, scopes and SHA-256 in hexadecimal"
        guard let setting = self.tree.tree("admin")?["tokens_file"],
            let bytes = self.content(setting, key: "admin.tokens_file", allowed: allowed)
        else { return [] }
        do throws(OperatorToken.Fault) {
            return try OperatorToken.all(in: bytes)
        } catch {
            self.report(
                setting.origin,
                "admin.tokens_file",
                found: error.found,
                allowed: allowed,
                mend: "write lines such as: ops read,sessions <output of sha256sum>"
            )
            return []
        }
    }

    private mutating func setTrust(_ settings: inout Settings) {
        settings.secrets = self.secrets()
        settings.signingKeys = self.signingKeys()
        for (index, element) in (self.tree.list("trusted_proxies") ?? []).enumerated() {
            guard case .block(let block) = element.value else { continue }
            settings.trustedProxies.append(block)
            guard block.prefixLength == 0 else { continue }
            if self.flags.trustAllProxies {
                self.warnings.append(
                    "--insecure-trust-all-proxies: every client can claim any address (\(block) is trusted)"
                )
            } else {
                self.report(
                    element.origin,
                    "trusted_proxies[\(index)]",
                    found: "\(block), which is every address",
                    allowed: "the addresses of your own proxies",
                    mend: "list the proxies, or accept forged addresses with --insecure-trust-all-proxies"
                )
            }
        }
    }

    // MARK: Sessions

    private mutating func check(_ session: SessionSettings) {
        guard let tree = self.tree.tree("session") else { return }
        self.check(session.browser, tree, key: "session")
        if let native = tree.tree("native") { self.check(session.native, native, key: "session.native") }
        if let transfer = tree.tree("transfer") { self.check(session.transfer, transfer, key: "session.transfer") }
        self.checkPersistence(session, tree)
        guard let name = tree.text("cookie"), let origin = tree["cookie"]?.origin else { return }
        if !name.hasPrefix("__Host-") || name == "__Host-", !self.flags.http {
            self.report(
                origin,
                "session.cookie",
                found: quoted(name),
                allowed: "a name that begins with __Host-, so that sibling domains cannot set it",
                mend: "write __Host-\(name.hasPrefix("__") ? "sallyport" : name), or use --insecure-http for plain http"
            )
        }
    }

    private mutating func check(_ lifetimes: SessionSettings.Lifetimes, _ tree: SettingsTree, key: String) {
        guard lifetimes.idle > lifetimes.absolute else { return }
        self.report(
            (tree["idle"] ?? tree["absolute"])?.origin ?? tree.origin,
            "\(key).idle",
            found:
                "\(Quantity.text(lifetimes.idle)), longer than \(key).absolute (\(Quantity.text(lifetimes.absolute)))",
            allowed: "at most \(key).absolute",
            mend: "write a shorter idle, or a longer absolute"
        )
    }

    private mutating func check(_ handoff: HandoffSettings, besides session: SessionSettings) {
        guard let origin = self.tree.tree("handoff")?["cookies"]?.origin else { return }
        let names = handoff.cookieNames
        if names.isEmpty || Set(names).count != names.count || names.contains(where: session.isOwnCookie) {
            self.report(
                origin,
                "handoff.cookies",
                found: names.isEmpty ? "an empty list" : "a name twice, or the name of a cookie of the gateway",
                allowed:
                    "one name or more, each once; not session.cookie, nor that name continued with -",
                mend: "write names such as session_transfer_token"
            )
        }
    }
}
