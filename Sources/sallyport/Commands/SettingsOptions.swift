import ArgumentParser
import Foundation
import Settings

/// The options by which a command finds the settings.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The settings' YAML file. Without it, the file that SALLYPORT_CONFIG names, or the environment alone.",
            valueName: "file"
        )
    )
    var config: String?

    /// File, environment and flags as one validated value.
    ///
    /// - Throws: `SettingsFailure` with every problem.
    func load(_ flags: InsecureFlags) throws(SettingsFailure) -> LoadedSettings {
        try SettingsLoader.load(
            file: self.config,
            environment: ProcessInfo.processInfo.environment,
            flags: flags,
            judgeRedisURL: RedisBacking.fault(inURL:)
        )
    }
}

/// The flags without which insecure settings do not start: they stand where everyone who looks at the process sees them.
struct InsecureOptions: ParsableArguments {
    @Flag(help: "Allow plain-http public URLs, whose cookies lack Secure. For loopback and tests.")
    var insecureHttp = false

    @Flag(help: "Allow the static provider to serve beyond loopback.")
    var insecureStaticUsers = false

    @Flag(help: "Allow trusted_proxies of 0.0.0.0/0 or ::/0: every client can then name any address as its own.")
    var insecureTrustAllProxies = false

    @Flag(help: "Allow device bindings behind https without trusted_proxies: a proxy in front would void them.")
    var insecureUnnamedProxy = false

    var flags: InsecureFlags {
        InsecureFlags(
            http: self.insecureHttp,
            staticUsers: self.insecureStaticUsers,
            trustAllProxies: self.insecureTrustAllProxies,
            unnamedProxy: self.insecureUnnamedProxy
        )
    }
}

/// What a command says to the person or script that called it.
enum Console {
    /// Writes `text` and a line break to standard output.
    static func say(_ text: String) {
        FileHandle.standardOutput.write(Data("\(text)\n".utf8))
    }

    /// Writes `text` and a line break to standard error.
    static func complain(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }
}
