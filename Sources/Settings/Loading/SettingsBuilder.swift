import AddressIntelligence
import Pages
import Vocabulary

/// Builds the settings from the values in `tree`, and checks that they fit together.
struct SettingsBuilder {
    var tree: SettingsTree
    var files: SettingsFiles
    let flags: InsecureFlags
    let judges: SettingsJudges
    /// Whether values are invalid. Missing values are then not reported, because an invalid value may explain them.
    let isPartial: Bool
    /// Whether the builder checks clients that an operator changes at run time.
    var isAtRunTime = false
    /// True if the files that the settings name are on another machine. Their content is not checked.
    var lacksFiles = false
    /// All environment variables of the process.
    var environment: [String: String] = [:]
    var problems: [SettingsProblem] = []
    var warnings: [String] = []
    /// The apps in `upstreams`, the apps that are written as a URL (`upstream`), and Kratos if it is configured.
    var upstreams: [UpstreamSettings] = []

    /// Builds the settings. They are meaningless if `problems` is not empty afterwards.
    mutating func build() -> Settings {
        self.upstreams = self.namedUpstreams()
        let clients = self.clients()
        var hosts = self.hosts(clients: clients)
        self.warnOfApps(hosts, clients)
        let apis = self.apis(&hosts, clients: clients)
        var settings = Settings(hosts: hosts, upstreams: [])
        self.tree.set(.file, in: &settings)
        self.tree.tree("telemetry")?.set(.exporter, in: &settings)
        settings.clients = clients
        settings.apis = apis
        self.setListeners(&settings)
        settings.tls = self.tls()
        settings.operatorTokens = self.operatorTokens()
        self.setTrust(&settings)
        self.checkProxyReports(settings)
        self.checkCovering(settings)
        self.setAuthorization(&settings)
        self.checkCertificateDemands(settings)
        self.checkUnnamedProxy(settings)
        if self.callsOthers || self.sendsTraces { settings.proxies = self.environmentProxies() }
        settings.providers = self.providers(settings)
        self.checkWildcards(settings)
        settings.nativeSocial = self.nativeSocial()
        self.setAccounts(&settings.accounts, settings.providers)
        self.checkKits(settings)
        self.check(settings.session)
        self.checkClientLifetimes(within: settings.session.transfer)
        self.setExchange(&settings.exchange, settings.provider)
        self.setStore(&settings.store, hasSecret: settings.secrets != nil)
        settings.scim = self.scim(settings)
        self.check(settings.handoff, besides: settings.session)
        self.setIdentity(&settings.identity, providers: settings.providers.map(\.settings))
        self.checkAudiences(settings.identity)
        self.checkChangedFields(settings.identity)
        self.setEncodings(&settings)
        self.setJobs(&settings)
        settings.asn = self.asn()
        settings.geo = self.geo()
        settings.rules = self.rules()
        self.checkBindings()
        self.checkSecretFiles()
        self.check(settings.limits)
        self.setLogs(&settings.logs)
        self.setTelemetry(&settings.telemetry)
        settings.pages = self.pages()
        self.checkPasswordChange(settings)
        if settings.oauth2ProxyPaths { settings.pages.base = PageDesign.oauth2ProxyBase }
        self.setBodyLimits(&settings)
        settings.upstreams = self.upstreams
        return settings
    }

    /// Whether a provider may be called over the network.
    private var callsOthers: Bool {
        self.tree["native_social"] != nil || self.tree["providers"] != nil
            || self.tree.tree("provider")?.entries.contains { $0.name != "static" } == true
    }

    private var sendsTraces: Bool {
        self.tree.tree("telemetry")?.entries.contains { ["endpoint", "traces_endpoint"].contains($0.name) } == true
    }

    // MARK: Problems and files

    mutating func report(_ place: KeyPlace, found: String, allowed: String, fix: String) {
        self.problems.append(
            SettingsProblem(origin: place.origin, key: place.key, found: found, allowed: allowed, fix: fix)
        )
    }

    /// Reports a missing key, unless an earlier problem may explain it (`isPartial`).
    mutating func reportMissing(_ place: KeyPlace, _ allowed: String, _ fix: String) {
        guard !self.isPartial else { return }
        self.report(place, found: "nothing", allowed: allowed, fix: fix)
    }

    /// Reports required keys that neither the file nor a variable has.
    mutating func reportMissingKeys(of tree: SettingsTree, in section: Section) {
        for entry in section.keys where entry.isRequired && tree[entry.name] == nil {
            self.reportMissing(
                tree.place(of: entry.name),
                entry.kind.allowed,
                "add the key \(entry.name)\(entry.environmentName.map { " (\($0))" } ?? ""): \(entry.purpose)"
            )
        }
    }

    /// Reports a value that an earlier mapping of the same list already has.
    ///
    /// - Parameters:
    ///   - seen: The origin of each value so far.
    ///   - found: The text that replaces the value in the message; `nil` to quote the value.
    ///   - fix: The advice. The origin of the earlier value is appended to it.
    mutating func checkOnce(
        _ value: String,
        _ name: String,
        of tree: SettingsTree,
        in seen: inout [String: SettingsOrigin],
        found: String? = nil,
        allowed: String? = nil,
        fix: String
    ) {
        let place = tree.place(of: name)
        guard let earlier = seen.updateValue(place.origin, forKey: value) else { return }
        self.report(
            place,
            found: "\(found ?? quoted(value)) a second time",
            allowed: allowed ?? "each \(name) once",
            fix: "\(fix) \(earlier)"
        )
    }

    /// Returns the path in a setting. A relative path in a file begins at the directory of that file.
    func resolved(_ setting: Setting?) -> String? {
        guard let setting, case .text(let path) = setting.value else { return nil }
        guard !path.hasPrefix("/"), case .file(let file, _, _) = setting.origin, let slash = file.lastIndex(of: "/")
        else { return path }
        return String(file[...slash]) + path
    }

    /// Returns the path in a setting for messages. If the file does not exist, a text that may be a secret is redacted.
    func shown(_ setting: Setting) -> String {
        guard let path = self.resolved(setting), case .text(let written) = setting.value, self.files.isThere(path)
        else { return setting.shown }
        return written
    }

    /// Returns the path of a file. Reports the file if it cannot be opened.
    mutating func readablePath(_ name: String, of tree: SettingsTree, isSecret: Bool = false) -> String? {
        guard let setting = tree[name], let path = self.resolved(setting), !self.lacksFiles else { return nil }
        if !self.files.isReadable(path) {
            self.report(
                tree.place(of: name),
                found: "no readable file at \(isSecret ? self.shown(setting) : quoted(path))",
                allowed: "the path of a file that can be read",
                fix: "check the path and the file's permissions"
            )
        }
        return path
    }

    /// Returns the content of a file with a secret, without the trailing line end.
    mutating func secret(_ name: String, of tree: SettingsTree, minBytes: Int = 1) -> Secret? {
        let allowed = "a file that holds \(minBytes) bytes or more"
        guard var bytes = self.content(name, of: tree, allowed: allowed) else { return nil }
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard bytes.count >= minBytes else {
            let found = "a secret of \(bytes.count) bytes"
            self.report(tree.place(of: name), found: found, allowed: allowed, fix: "write a longer one")
            return nil
        }
        return Secret(bytes)
    }

    /// Reads the secrets in `secret_file`. The gateway derives its keys from them.
    private mutating func secrets() -> SecretRing? {
        let allowed = "a file with one secret per line, each of \(SecretFile.minBytes) bytes or more"
        guard let bytes = self.content("secret_file", of: self.tree, allowed: allowed) else { return nil }
        do throws(SecretFile.Fault) {
            return try SecretFile(bytes).ring
        } catch {
            self.report(self.tree.place(of: "secret_file"), found: error.found, allowed: allowed, fix: error.fix)
            return nil
        }
    }

    /// Returns the content of `signing_key_file`, unchecked, because `Settings` does not depend on JOSE.
    private mutating func signingKeys() -> Secret? {
        let allowed = "a PEM file with one EC P-256 or RSA key or more"
        return self.content("signing_key_file", of: self.tree, allowed: allowed).map { Secret($0) }
    }

    /// Returns the content of the file in a setting; `nil` without the key, with `lacksFiles`, or after a reported
    /// error.
    mutating func content(
        _ name: String,
        of tree: SettingsTree,
        allowed: String,
        limit: Int = SecretFile.maxBytes
    ) -> [UInt8]? {
        guard let setting = tree[name], let path = self.resolved(setting), !self.lacksFiles else { return nil }
        do throws(SettingsFiles.Fault) {
            return try self.files.read(path, limit)
        } catch {
            self.report(
                tree.place(of: name),
                found: "\(error.sentence) at \(self.shown(setting))",
                allowed: allowed,
                fix: "check the path and the file's permissions"
            )
            return nil
        }
    }

    // MARK: Trust

    private mutating func operatorTokens() -> [OperatorToken] {
        let allowed = "a file with 1 to \(OperatorToken.most) lines of name, scopes and SHA-256 in hexadecimal"
        guard let admin = self.tree.tree("admin"),
            let bytes = self.content("tokens_file", of: admin, allowed: allowed)
        else { return [] }
        do throws(OperatorToken.Fault) {
            return try OperatorToken.all(in: bytes)
        } catch {
            self.report(
                admin.place(of: "tokens_file"),
                found: error.found,
                allowed: allowed,
                fix: "write lines such as: ops read,sessions <output of sha256sum>"
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
                    KeyPlace(origin: element.origin, key: "trusted_proxies[\(index)]"),
                    found: "\(block), which is every address",
                    allowed: "the addresses of your own proxies",
                    fix: "list the proxies, or accept forged addresses with --insecure-trust-all-proxies"
                )
            }
        }
    }

    // MARK: Sessions

    private mutating func check(_ session: SessionSettings) {
        guard let tree = self.tree.tree("session") else { return }
        self.check(session.browser, tree)
        if let native = tree.tree("native") { self.check(session.native, native) }
        if let transfer = tree.tree("transfer") { self.check(session.transfer, transfer) }
        self.checkPersistence(session, tree)
        guard let name = tree.text("cookie") else { return }
        if !name.hasPrefix("__Host-") || name == "__Host-", !self.flags.http {
            self.report(
                tree.place(of: "cookie"),
                found: quoted(name),
                allowed: "a name that begins with __Host-, so that sibling domains cannot set it",
                fix: "write __Host-\(name.hasPrefix("__") ? "sallyport" : name), or use --insecure-http for plain http"
            )
        }
    }

    private mutating func check(_ lifetimes: SessionSettings.Lifetimes, _ tree: SettingsTree) {
        guard lifetimes.idle > lifetimes.absolute else { return }
        let absolute = tree.key(of: "absolute")
        self.report(
            tree.place(of: "idle", or: "absolute"),
            found: "\(Quantity.text(lifetimes.idle)), longer than \(absolute) (\(Quantity.text(lifetimes.absolute)))",
            allowed: "at most \(absolute)",
            fix: "write a shorter idle, or a longer absolute"
        )
    }

    private mutating func check(_ handoff: HandoffSettings, besides session: SessionSettings) {
        guard let tree = self.tree.tree("handoff"), tree["cookies"] != nil else { return }
        let names = handoff.cookieNames
        if names.isEmpty || Set(names).count != names.count || names.contains(where: session.isOwnCookie) {
            self.report(
                tree.place(of: "cookies"),
                found: names.isEmpty ? "an empty list" : "a name twice, or the name of one of the gateway's cookies",
                allowed:
                    "one name or more, each once; not session.cookie, nor that name continued with -",
                fix: "write names such as session_transfer_token"
            )
        }
    }
}
