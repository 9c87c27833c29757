import Foundation
import GatewayBench
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// How the process ends, above all in its first half second, while tasks in the background make keys.
@Suite("The end of the process", .blocking) struct ProcessEndTests {
    private static func run(_ words: [String], _ settings: String) throws -> (status: Int32, output: String) {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "sallyport.yaml")
        try Data(settings.utf8).write(to: file)
        return try Servers.run(Gateway.binary.path, words.map { $0 == "FILE" ? file.path : $0 })
    }

    @Test("A port in use ends each of many starts with status 1 and one sentence", arguments: ["run", "demo"])
    func portInUse(_ command: String) throws {
        let taken = try FakeUpstream()
        defer { taken.stop() }
        // Clients need a signing key, which is made in the background.
        let settings = Config.file(upstream: 1, listen: "127.0.0.1:\(taken.port)")
        let words =
            command == "run"
            ? ["run", "--config", "FILE", "--insecure-http", "--insecure-unnamed-proxy"]
            : ["demo", "--port", "\(taken.port)"]
        for _ in 0..<25 {
            let (status, output) = try Self.run(words, settings)
            #expect(status == 1, "\(output)")
            let sentences = output.split(separator: "\n").filter {
                !$0.hasPrefix("{") && $0.contains("\(taken.port)") && $0.contains("another process listens there")
            }
            #expect(sentences.count == 1, "\(output)")
            #expect(!output.contains("fatal signal"), "\(output)")
        }
    }

    @Test("Two SIGTERMs right after the start end each of many gateways with a status, not with a signal")
    func stopsAtOnce() throws {
        let settings = Config.file(upstream: 1)
        for _ in 0..<15 {
            let gateway = try Gateway(settings)
            defer { gateway.stop() }
            gateway.signal(SIGTERM)
            gateway.signal(SIGTERM)
            #expect(gateway.fatalSignal() == nil, "\(gateway.output)")
            #expect([0, 1].contains(gateway.exitStatus()), "\(gateway.output)")
        }
    }

    @Test("The last lines of a command come before its end")
    func printsItsLastLines() throws {
        for words in [["--help"], ["man"], ["completion", "bash"], ["help", "run"]] {
            let (status, output) = try Self.run(words, "")
            #expect(status == 0 && output.count > 500 && output.hasSuffix("\n"), "\(words): \(output.suffix(200))")
        }
        let (status, output) = try Self.run(["check", "--no-such-option"], "")
        #expect(status == 64 && output.contains("no-such-option"), "\(output)")
    }

    @Test("SIGUSR1, SIGUSR2, SIGALRM and SIGPIPE do not end a gateway; a line of the log names the first three")
    func ignoresSignals() throws {
        try Gateway.with(Config.file(upstream: 1)) { gateway in
            gateway.signal(SIGPIPE)
            for (signal, name) in [(SIGUSR1, "SIGUSR1"), (SIGUSR2, "SIGUSR2"), (SIGALRM, "SIGALRM")] {
                gateway.signal(signal)
                let isTold = eventually {
                    gateway.output.contains("is ignored") && gateway.output.contains(#""signal":"\#(name)""#)
                }
                #expect(isTold, "\(gateway.output)")
            }
            let readiness = try gateway.admin("/readyz")
            #expect(readiness.status == 200, "\(readiness.text)")
            gateway.signal(SIGTERM)
            #expect(gateway.exitStatus() == 0, "\(gateway.output)")
        }
    }

    @Test("SIGUSR1 and SIGHUP during the start do not end it, and the reload takes place when the gateway serves")
    func ignoresSignalsDuringTheStart() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "sallyport.yaml")
        try Data(Config.file(upstream: 1).utf8).write(to: file)
        let log = folder.appending(path: "output.log")
        try Data().write(to: log)
        let process = Process()
        process.executableURL = Gateway.binary
        process.arguments = ["run", "--config", file.path, "--insecure-http", "--insecure-unnamed-proxy"]
        process.environment = Gateway.environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: log)
        process.standardError = process.standardOutput
        try process.run()
        defer { process.terminate() }
        let id = process.processIdentifier
        // From the moment on at which the process handles the signal.
        let handles = eventually {
            let status = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)) ?? ""
            guard let mask = status.firstMatch(of: /SigCgt:\s*([0-9a-f]+)/) else { return false }
            return (UInt64(mask.1, radix: 16) ?? 0) & 1 << UInt64(SIGUSR1 - 1) != 0
        }
        #expect(handles)
        func output() -> String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }
        var sent = 0
        let serves = eventually {
            kill(id, SIGUSR1)
            kill(id, SIGHUP)
            sent += 1
            return output().contains("admin listening") || !process.isRunning
        }
        #expect(serves && sent > 0 && process.isRunning, "\(output())")
        #expect(eventually { output().contains("configuration reloaded") }, "\(output())")
    }
}
