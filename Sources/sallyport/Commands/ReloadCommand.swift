import ArgumentParser
import Settings

#if canImport(Glibc)
import Glibc
#endif

/// `sallyport reload`: has a running gateway on this machine read its settings again.
struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Check the settings, then have the running gateway read them again (SIGHUP).",
        discussion: """
            The gateway is that of --pid-file, which `sallyport run --pid-file` wrote, or of --pid. Settings that `sallyport \
            check` would refuse are not sent: the gateway would go on with the former ones and say so in its log. What became \
            of the reload is in its log, and at /readyz?verbose.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var named: SettingsFileArgument
    @OptionGroup var insecure: InsecureOptions

    @Option(help: ArgumentHelp("The file with the process id of the gateway.", valueName: "file"))
    var pidFile: String?

    @Option(help: ArgumentHelp("The process id of the gateway.", valueName: "number"))
    var pid: Int32?

    func validate() throws {
        try self.named.validate(besides: self.options)
        guard (self.pid == nil) != (self.pidFile == nil) else {
            throw ValidationError("Name the gateway by --pid-file or by --pid.")
        }
    }

    func run() throws {
        let options = self.options.naming(self.named)
        do {
            _ = try options.load(self.insecure.flags)
        } catch {
            throw Console.failure(options.report(error))
        }
        let process = try self.pid ?? self.pidFile.map(PIDFile.read) ?? 0
        guard PIDFile.isGateway(process) else {
            throw Console.failure("process \(process) is no running gateway of this program")
        }
        guard kill(process, SIGHUP) == 0 else {
            throw Console.failure("process \(process) cannot be told: \(String(cString: strerror(errno)))")
        }
        Console.say("process \(process) reads its settings again; its log says what became of it")
    }
}

/// The file in which a running gateway leaves its process id.
enum PIDFile {
    /// Writes the id of this process. A file that another gateway left behind is replaced; that of one that runs is not.
    static func write(to path: String) throws {
        if access(path, F_OK) == 0, let former = try? self.read(path), former != getpid(), self.isGateway(former) {
            throw PrivateFileFailure("\(path): the gateway with process id \(former) is running")
        }
        unlink(path)
        try PrivateFile.make(at: path, with: Array("\(getpid())\n".utf8), mode: 0o644)
    }

    /// The process id in a file.
    static func read(_ path: String) throws -> Int32 {
        let text = Console.readToken(path).map { String(decoding: $0, as: UTF8.self) }
        guard let text, let process = Int32(text), process >= 1 else {
            throw Console.failure("\(path) holds no process id")
        }
        return process
    }

    /// Whether a process runs this program, so that no other is sent a signal that ends it.
    static func isGateway(_ process: Int32) -> Bool {
        guard process >= 1 else { return false }
        func program(_ process: String) -> String? {
            realpath("/proc/\(process)/exe", nil).map { path in
                defer { free(path) }
                return String(cString: path)
            }
        }
        guard let own = program("self"), let other = program("\(process)") else { return false }
        func name(_ path: String) -> Substring { path.split(separator: "/").last ?? "" }
        return own == other || name(own) == name(other)
    }
}
