package import Foundation
import Synchronization
import TestSupport
package import Testing

#if canImport(Glibc)
import Glibc
#endif

/// The built binary, which serves a test's settings on free ports.
package final class Gateway: Sendable {
    /// The root of the package.
    package static let root = PackageFolder.root
    /// The binary of the same build as the tests, which is in the same folder as they are.
    package static let binary = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "sallyport")
    /// The environment of every gateway process: of the tests' own environment, only what a sanitizer reads.
    package static let environment = ProcessInfo.processInfo.environment
        .filter { $0.key == "ASAN_OPTIONS" }
        .merging(["PATH": "/usr/bin:/bin"]) { $1 }

    /// The port of its listener.
    package let port: Int
    /// The port of its admin listener.
    package let adminPort: Int
    /// The folder of its settings, its other files and its output.
    package let folder: URL
    private let frontPort = Mutex<Int?>(nil)
    private let process: Mutex<Process>
    /// The process id, for signals.
    package let processID: Int32
    private let hasEnded = Mutex(false)

    /// Starts the binary and waits until it serves.
    ///
    /// - Parameters:
    ///     - settings: The settings file. Relative paths in it are resolved in `folder`.
    ///     - files: Additional files for the same folder, by name.
    ///     - environment: Variables in addition to `PATH`.
    ///     - descriptors: The limit on its open files.
    ///     - starter: A program that becomes the gateway, with its arguments.
    package init(
        _ settings: String,
        files: [String: String] = [:],
        arguments: [String] = [],
        environment: [String: String] = [:],
        descriptors: Int? = nil,
        starter: [String] = []
    ) throws {
        guard FileManager.default.isExecutableFile(atPath: Self.binary.path) else {
            throw BenchFailure("\(Self.binary.path) is missing: build the whole package first")
        }
        self.folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-integration-\(UUID())")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        for (name, text) in files {
            try text.write(to: self.folder.appending(path: name), atomically: true, encoding: .utf8)
        }
        let file = self.folder.appending(path: "settings.yaml")
        try settings.write(to: file, atomically: true, encoding: .utf8)
        let log = self.folder.appending(path: "output.log")
        try Data().write(to: log)
        let output = try FileHandle(forWritingTo: log)
        let process = Process()
        // Tests connect on loopback without a proxy, whatever the public URL says.
        let command = ["run", "--config", file.path, "--insecure-http", "--insecure-unnamed-proxy"] + arguments
        if let program = starter.first {
            process.executableURL = URL(filePath: program)
            process.arguments = starter.dropFirst() + [Self.binary.path] + command
        } else if let descriptors {
            process.executableURL = URL(filePath: "/usr/bin/prlimit")
            process.arguments = ["--nofile=\(descriptors):\(descriptors)", Self.binary.path] + command
        } else {
            process.executableURL = Self.binary
            process.arguments = command
        }
        process.environment = Self.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        try process.run()
        self.processID = process.processIdentifier
        self.process = Mutex(process)
        var text = ""
        let isUp = eventually {
            text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
            return text.contains(#""message":"admin listening""#) && text.hasSuffix("\n")
                || kill(process.processIdentifier, 0) != 0 || !process.isRunning
        }
        guard isUp, let port = text.firstMatch(of: /"message":"listening","fields":\{"address":"[^"]*:(\d+)"/),
            let admin = text.firstMatch(of: /"message":"admin listening","fields":\{"address":"[^"]*:(\d+)"/),
            let port = Int(port.1), let admin = Int(admin.1)
        else {
            process.terminate()
            try? FileManager.default.removeItem(at: self.folder)
            throw BenchFailure("the gateway did not start: \(text)")
        }
        self.port = port
        self.adminPort = admin
    }

    /// Runs `body` with a gateway, and always stops the gateway afterwards.
    @discardableResult
    package static func with<Result>(
        _ settings: String,
        files: [String: String] = [:],
        environment: [String: String] = [:],
        descriptors: Int? = nil,
        _ body: (Gateway) throws -> Result
    ) throws -> Result {
        let gateway = try Gateway(settings, files: files, environment: environment, descriptors: descriptors)
        defer { gateway.stop() }
        return try body(gateway)
    }

    /// The port of a proxy in front, through which clients connect; nil: there is none.
    package var front: Int? {
        get { self.frontPort.withLock { $0 } }
        set { self.frontPort.withLock { $0 = newValue } }
    }

    // MARK: Output and metrics

    /// Everything that it has written so far.
    package var output: String {
        let data = (try? Data(contentsOf: self.folder.appending(path: "output.log"))) ?? Data()
        return String(decoding: data, as: UTF8.self)
    }

    /// Sends a GET to the admin listener.
    package func admin(_ path: String) throws -> Answer {
        try Wire(to: self.adminPort).request("GET \(path) HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n")
    }

    /// The value of a series, named with its labels as they are written; 0 if the series does not exist.
    package func metric(_ series: String) throws -> Double {
        let text = try self.admin("/metrics").text
        let line = text.split(separator: "\n").first { $0.hasPrefix(series + " ") }
        return line.flatMap { Double($0.dropFirst(series.count + 1)) } ?? 0
    }

    /// Its resident memory in bytes.
    package var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/\(self.processID)/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * 4096
    }

    /// How much its resident memory may grow where it holds `bytes` more. A sanitizer adds records of its own to every
    /// allocation, and keeps freed memory for a while.
    package static func memoryBound(_ bytes: Int) -> Int {
        self.environment["ASAN_OPTIONS"] == nil ? bytes : 3 * bytes
    }

    /// The number of its open files.
    package var descriptorCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(self.processID)/fd").count) ?? 0
    }

    // MARK: Signals and exit

    /// True while SIGSTOP holds the process.
    package var isPaused: Bool {
        let text = (try? String(contentsOfFile: "/proc/\(self.processID)/stat", encoding: .utf8)) ?? ""
        return text.split(separator: ")").last?.hasPrefix(" T") == true
    }

    /// True once the process handles SIGTERM, which happens a moment after it has announced its listeners.
    package var trapsStop: Bool {
        let text = (try? String(contentsOfFile: "/proc/\(self.processID)/status", encoding: .utf8)) ?? ""
        let caught = text.firstMatch(of: /SigCgt:\s*([0-9a-f]+)/).flatMap { UInt64($0.1, radix: 16) } ?? 0
        return caught & (1 << UInt64(SIGTERM - 1)) != 0
    }

    /// Sends it a signal.
    package func signal(_ number: Int32) {
        kill(self.processID, number)
    }

    /// Replaces the settings, asks for a reload, and waits until the log reports the result.
    package func reload(_ settings: String) throws {
        let marks = ["configuration reloaded", "configuration not reloaded"]
        func count() -> Int { marks.map { self.output.components(separatedBy: $0).count - 1 }.reduce(0, +) }
        let before = count()
        try settings.write(to: self.folder.appending(path: "settings.yaml"), atomically: true, encoding: .utf8)
        self.signal(SIGHUP)
        guard eventually({ count() > before }) else { throw BenchFailure("no reload: \(self.output.suffix(500))") }
    }

    /// Waits for it to exit by itself and returns the exit status; nil if it does not exit.
    package func exitStatus(within seconds: Double = 10) -> Int32? {
        guard eventually(within: seconds, { !self.process.withLock { $0.isRunning } }) else { return nil }
        self.hasEnded.withLock { $0 = true }
        return self.process.withLock { $0.terminationStatus }
    }

    /// Waits for a signal to end it and returns the signal; nil if it goes on or exits by itself.
    package func fatalSignal() -> Int32? {
        guard let status = self.exitStatus() else { return nil }
        return self.process.withLock { $0.terminationReason } == .uncaughtSignal ? status : nil
    }

    /// Ends the process and searches all of its output for secrets.
    package func stop(sourceLocation: SourceLocation = #_sourceLocation) {
        if !self.hasEnded.withLock({ $0 }), self.process.withLock({ $0.isRunning }) {
            let metrics = (try? self.admin("/metrics").text) ?? ""
            #expect(Secrets.shared.found(in: metrics).isEmpty, "metrics tell secrets", sourceLocation: sourceLocation)
            self.signal(SIGTERM)
            if self.exitStatus(within: 5) == nil {
                self.signal(SIGTERM)
                if self.exitStatus(within: 2) == nil { self.signal(SIGKILL) }
            }
        }
        let output = self.output
        #expect(Secrets.shared.found(in: output).isEmpty, "the output tells secrets", sourceLocation: sourceLocation)
        for word in ["Fatal error", "Precondition failed", "panicked", "Crash", "Sanitizer"] {
            #expect(!output.contains(word), "\(output.suffix(2000))", sourceLocation: sourceLocation)
        }
        try? FileManager.default.removeItem(at: self.folder)
    }
}
