/// Insecure behaviour. It requires a command line flag, because a flag is visible at every start.
package struct InsecureFlags: Sendable, Equatable {
    /// `--insecure-http`: plain-http URLs, and cookies without `Secure`.
    package var http: Bool
    /// `--insecure-static-users`: the `static` provider beyond loopback.
    package var staticUsers: Bool
    /// `--insecure-trust-all-proxies`: `0.0.0.0/0` and `::/0` in `trusted_proxies`.
    package var trustAllProxies: Bool
    /// `--insecure-unnamed-proxy`: device bindings although TLS ends before the gateway and `trusted_proxies` is empty.
    package var unnamedProxy: Bool

    package init(
        http: Bool = false,
        staticUsers: Bool = false,
        trustAllProxies: Bool = false,
        unnamedProxy: Bool = false
    ) {
        self.http = http
        self.staticUsers = staticUsers
        self.trustAllProxies = trustAllProxies
        self.unnamedProxy = unnamedProxy
    }
}

/// Valid settings, and the origin of each value.
package struct LoadedSettings: Sendable {
    /// A key with its effective value, in a form that may be shown.
    package struct Entry: Sendable, Equatable {
        package var key: String
        package var value: String
        package var origin: SettingsOrigin
        /// True if the value was set by the file or a variable and differs from the default.
        package var isChanged = false
    }

    package var settings: Settings
    /// Sentences about facts that an operator should know but need not correct.
    package var warnings: [String]
    /// The written values and the defaults in effect, in the order of the reference, with secrets redacted. Computed on
    /// demand, only for `check`.
    package var entries: [Entry] { self.entriesOfSettings(self.settings) }
    fileprivate let entriesOfSettings: @Sendable (Settings) -> [Entry]
    /// The clients of the settings file, and the check of changes that operators make to clients at run time.
    package var clients = ClientBase()

    /// Returns the effective settings, one `key: value  # origin` per line, without secrets: the output of `check`.
    ///
    /// - Parameter changedOnly: True to omit keys with their default value, even if they are written.
    package func describe(changedOnly: Bool = false) -> String {
        self.entries.filter { !changedOnly || $0.isChanged }.map { "\($0.key): \($0.value)  # \($0.origin)" }
            .joined(separator: "\n")
    }
}

/// The address of the admin listener, for commands that call it.
package struct AdminListener: Sendable, Equatable {
    package let listener: ListenerSettings
    /// The PEM files of the certificates that the listener can present. Empty without TLS.
    package let certificateFiles: [String]

    init(_ listener: ListenerSettings, certificateFiles: [String]) {
        self.listener = listener
        self.certificateFiles = certificateFiles
    }
}

/// Loads the settings from the file, the environment and the flags, and validates them.
package enum SettingsLoader {
    /// Reads the settings.
    ///
    /// The settings file is `file`, otherwise the file in `SALLYPORT_CONFIG`. Without a file, variables must set every
    /// required key. A variable takes precedence over the file. A path in a file is relative to the file's directory.
    ///
    /// - Parameter lacksFiles: Whether the files that the settings name are on another machine. The files are not
    ///   checked, and a gateway cannot run with the settings.
    /// - Throws: The problems. If the file cannot be read, only those of the file and of `SALLYPORT_*` variables. No
    ///   problem shows a secret.
    package static func load(
        file: String?,
        environment: [String: String],
        flags: InsecureFlags,
        files: SettingsFiles = .system,
        lacksFiles: Bool = false,
        judges: SettingsJudges = SettingsJudges()
    ) throws(SettingsFailure) -> LoadedSettings {
        let files = files.remembered()
        let written = try self.written(file: file, environment: environment, files: files)
        var unused = SettingsBuilder(
            tree: written.tree,
            files: files,
            flags: flags,
            judges: judges,
            isPartial: !written.problems.isEmpty,
            environment: environment
        )
        unused.lacksFiles = lacksFiles
        var builder = unused
        let settings = builder.build()
        let problems = written.problems + builder.problems
        guard problems.isEmpty else { throw SettingsFailure(problems.inOrder) }
        return LoadedSettings(
            settings: settings,
            warnings: written.warnings + builder.warnings,
            entriesOfSettings: { EffectiveSettings.entries(of: written.tree, $0) },
            clients: ClientBase(unused, native: settings.session.native)
        )
    }

    /// Returns the admin listener, and validates nothing else. The file is not read if a variable sets the address.
    ///
    /// - Throws: The problems of the address, or of a file that cannot be read.
    package static func adminListener(
        file: String?,
        environment: [String: String],
        files: SettingsFiles = .system
    ) throws(SettingsFailure) -> AdminListener? {
        let isSaid = environment["SALLYPORT_ADMIN_LISTEN"] != nil
        let variables = isSaid ? environment.filter { $0.key != EnvironmentOverlay.fileVariable } : environment
        let written = try self.written(file: isSaid ? nil : file, environment: variables, files: files)
        let admin = written.tree.tree("admin")
        guard admin?["listen"] != nil else {
            return Settings(hosts: [], upstreams: []).adminListen.map { AdminListener($0, certificateFiles: []) }
        }
        var builder = SettingsBuilder(
            tree: written.tree,
            files: files,
            flags: InsecureFlags(),
            judges: SettingsJudges(),
            isPartial: true
        )
        guard let listener = admin?.tree("listen").flatMap({ builder.innerListener($0) }) else {
            throw SettingsFailure(written.problems.filter { $0.key.hasPrefix("admin.listen") })
        }
        return AdminListener(listener, certificateFiles: listener.isSecure ? builder.certificateFiles() : [])
    }

    /// Reads the file and the variables. `problems` are those of reading; `SettingsBuilder` finds the others.
    private static func written(
        file: String?,
        environment: [String: String],
        files: SettingsFiles
    ) throws(SettingsFailure) -> (tree: SettingsTree, problems: [SettingsProblem], warnings: [String]) {
        var problems: [SettingsProblem] = []
        var tree = SettingsTree(origin: .builtIn)
        let fromEnvironment = environment[EnvironmentOverlay.fileVariable].map {
            (path: $0, origin: SettingsOrigin.environment(EnvironmentOverlay.fileVariable))
        }
        let named =
            file.map { (path: $0, origin: SettingsOrigin.file(path: $0, line: 1, column: 1)) } ?? fromEnvironment
        if let named {
            do throws(SettingsFailure) {
                let bytes = try self.read(named.path, named.origin, files)
                var decoder = SettingsDecoder(
                    try YAMLDocument(bytes, path: named.path),
                    file: .file,
                    elsewhere: EnvironmentOverlay.keys(setBy: environment)
                )
                tree = decoder.tree(of: .file)
                problems += decoder.problems
            } catch {
                problems += error.problems
                // Without a readable YAML file, the variables are still checked.
                var overlay = EnvironmentOverlay()
                overlay.apply(environment, to: &tree)
                throw SettingsFailure(problems + overlay.problems)
            }
        }
        var telemetry = TelemetryVariables(environment)
        telemetry.apply(to: &tree, besides: environment)
        var overlay = EnvironmentOverlay()
        overlay.apply(environment, to: &tree)
        telemetry.switchOff(&tree)
        return (tree, problems + telemetry.problems + overlay.problems, telemetry.warnings + overlay.warnings)
    }

    private static func read(
        _ path: String,
        _ origin: SettingsOrigin,
        _ files: SettingsFiles
    ) throws(SettingsFailure) -> [UInt8] {
        do throws(SettingsFiles.Fault) {
            return try files.read(path, YAMLGuard.maxBytes)
        } catch {
            let isNamedByVariable = origin == .environment(EnvironmentOverlay.fileVariable)
            let problem = SettingsProblem(
                origin: origin,
                key: "",
                found: isNamedByVariable ? "\(error.sentence) at \(quoted(path))" : error.sentence,
                allowed: "a YAML file of at most 1MiB",
                fix: error == .absent ? "" : "check the path of the settings file and its permissions",
                isOfWholeFile: true
            )
            throw SettingsFailure([problem])
        }
    }
}

extension [SettingsProblem] {
    /// The problems without duplicates, by line and column. Problems at one place stay in the order of discovery.
    var inOrder: [SettingsProblem] {
        func place(_ problem: SettingsProblem) -> (Int, Int) {
            guard case .file(_, let line, let column) = problem.origin else { return (.max, .max) }
            return (line, column)
        }
        var seen: Set<SettingsProblem> = []
        let unique = self.filter { seen.insert($0).inserted }
        return unique.enumerated().sorted { left, right in
            let (leftPlace, rightPlace) = (place(left.element), place(right.element))
            return leftPlace == rightPlace ? left.offset < right.offset : leftPlace < rightPlace
        }.map(\.element)
    }
}
