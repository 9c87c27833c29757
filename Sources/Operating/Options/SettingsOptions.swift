import ArgumentParser
package import Settings

/// The options that select the settings.
package struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The YAML file with the settings. Default: the file in SALLYPORT_CONFIG, or only the environment.",
            valueName: "file"
        ),
        completion: .file()
    )
    var config: String?

    package init() {}

    /// Loads and validates the settings.
    ///
    /// - Parameter lacksFiles: True to skip the files that the settings refer to.
    /// - Throws: `SettingsFailure` with all problems.
    package func load(_ flags: InsecureFlags, lacksFiles: Bool = false) throws(SettingsFailure) -> LoadedSettings {
        try SettingsLoader.load(
            file: self.config,
            environment: Process.environment,
            flags: flags,
            lacksFiles: lacksFiles,
            judges: .gateway
        )
    }

    /// Returns options with the file of `argument`, if it has one.
    package func naming(_ argument: SettingsFileArgument) -> SettingsOptions {
        var options = self
        if let file = argument.file { options.config = file }
        return options
    }

    /// Returns a message that lists the problems, one per line, or says that there are no settings.
    package func report(_ failure: SettingsFailure, named argument: SettingsFileArgument? = nil) -> String {
        let hasFile = self.config != nil || argument?.file != nil
        if !hasFile, !Process.environment.keys.contains(where: { $0.hasPrefix("SALLYPORT_") }) {
            return
                "there are no settings: pass a file, or set SALLYPORT_PUBLIC_URL, SALLYPORT_UPSTREAM and a provider; "
                + "`sallyport init` writes a first file, and `sallyport demo` shows the gateway at work"
        }
        let count = failure.problems.count
        return (["invalid: \(count) problem\(count == 1 ? "" : "s")"] + failure.problems.map { "  \($0)" })
            .joined(separator: "\n")
    }
}

/// The settings file as an argument without `--config`, e.g. `sallyport run sallyport.yaml`.
package struct SettingsFileArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The YAML file with the settings, as with --config.", valueName: "file"),
        completion: .file()
    )
    var file: String?

    package init() {}

    /// Throws if the command line names two settings files.
    package func validate(besides options: SettingsOptions) throws {
        guard self.file == nil || options.config == nil else {
            throw ValidationError("Pass the file only once: \(self.file ?? ""), or --config \(options.config ?? "").")
        }
    }
}

/// Flags that allow insecure settings. They are flags and not settings, so that the process list shows them.
package struct InsecureOptions: ParsableArguments {
    @Flag(help: "Allow plain-http public URLs, whose cookies lack Secure. For loopback and tests.")
    var insecureHttp = false

    @Flag(help: "Allow the static provider on addresses other than loopback.")
    var insecureStaticUsers = false

    @Flag(help: "Allow 0.0.0.0/0 or ::/0 in trusted_proxies. Every client can then claim any address.")
    var insecureTrustAllProxies = false

    @Flag(help: "Allow device bindings with https and without trusted_proxies. They have no effect behind a proxy.")
    var insecureUnnamedProxy = false

    package init() {}

    /// The flags as the settings loader expects them.
    package var flags: InsecureFlags {
        InsecureFlags(
            http: self.insecureHttp,
            staticUsers: self.insecureStaticUsers,
            trustAllProxies: self.insecureTrustAllProxies,
            unnamedProxy: self.insecureUnnamedProxy
        )
    }
}
