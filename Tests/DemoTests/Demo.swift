import Foundation
import GatewayBench

/// The built binary's demo, running on a free port.
struct Demo {
    /// A step of the walk as it is printed.
    struct Step: Sendable {
        var title: String
        var command = ""
        var shows: [String] = []
        var lacks: [String] = []
    }

    let origin: String
    let admin: String
    let steps: [Step]
    /// What it printed before it served.
    let introduction: String
    private let process: Process
    private let log: URL
    private let introductionCount: Int

    /// Starts `sallyport demo`, on a free port unless the arguments say where, and waits until it serves.
    ///
    /// - Parameter walk: Which commands it prints; nil: none.
    init(_ arguments: [String] = [], walk: String? = "--long-walk") throws {
        self.process = Process()
        self.log = FileManager.default.temporaryDirectory.appending(path: "sallyport-demo-\(UUID()).log")
        try Data().write(to: self.log)
        let output = try FileHandle(forWritingTo: self.log)
        self.process.executableURL = Gateway.binary
        let port = arguments.contains("--listen") ? [] : ["--port", "0"]
        self.process.arguments = ["demo"] + port + [walk].compactMap(\.self) + arguments
        self.process.environment = Gateway.environment
        self.process.standardInput = FileHandle.nullDevice
        self.process.standardOutput = output
        self.process.standardError = output
        try self.process.run()
        var text = ""
        // Half a minute allows for a machine that is building at the same time.
        for _ in 0..<1500 {
            text = try String(contentsOf: self.log, encoding: .utf8)
            if text.contains("/  ada@example.com / analytical-engine\n") || !self.process.isRunning { break }
            usleep(20_000)
        }
        let last = /\nOpen (https?:\/\/[a-z.:0-9]+)\/  ada@example.com \/ analytical-engine\n/
        guard let serving = text.firstMatch(of: last),
            let admin = text.firstMatch(of: /metrics: (http:\/\/127\.0\.0\.1:\d+)\/readyz/)
        else {
            self.process.terminate()
            throw BenchFailure("the demo did not start: \(text)")
        }
        self.origin = String(serving.1)
        self.admin = String(admin.1)
        self.introductionCount = text.utf8.count
        self.introduction = text
        self.steps = walk == nil ? [] : try Self.steps(in: text)
    }

    /// What it has written since it printed the walk. Waits for `text`, because the log is written in the background.
    func written(until text: String) throws -> String {
        var written = ""
        for _ in 0..<500 {
            written = String(decoding: try Data(contentsOf: self.log).dropFirst(self.introductionCount), as: UTF8.self)
            if written.contains(text) { break }
            usleep(20_000)
        }
        return written
    }

    /// Sends SIGTERM and returns the exit status.
    func stop() -> Int32 {
        self.process.terminate()
        self.process.waitUntilExit()
        try? FileManager.default.removeItem(at: self.log)
        return self.process.terminationStatus
    }

    /// Reads the walk as a person would: every line that is not a comment is a command.
    private static func steps(in text: String) throws -> [Step] {
        guard let start = text.firstRange(of: "# --- the walk ---\n"),
            let end = text.firstRange(of: "# --- end of the walk ---")
        else { throw BenchFailure("no walk was printed: \(text)") }
        var steps: [Step] = []
        for line in text[start.upperBound..<end.lowerBound].split(separator: "\n") {
            if let title = line.wholeMatch(of: /# \d+\. (.+)/) {
                steps.append(Step(title: String(title.1)))
                continue
            }
            guard var step = steps.popLast() else { throw BenchFailure("not a title: \(line)") }
            if line.hasPrefix("#    shows: ") {
                step.shows.append(String(line.dropFirst("#    shows: ".count)))
            } else if line.hasPrefix("#    lacks: ") {
                step.lacks.append(String(line.dropFirst("#    lacks: ".count)))
            } else if !line.hasPrefix("#"), step.command.isEmpty {
                step.command = String(line)
            } else {
                throw BenchFailure("not one command a step: \(line)")
            }
            steps.append(step)
        }
        return steps
    }
}

/// Commands as a person types them.
enum Shell {
    /// Runs the commands in one bash, in order. Returns the output and exit status of each.
    static func run(_ commands: [String]) throws -> [(status: Int32, output: String)] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-walk-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let mark = "@@\(UUID())"
        let script = commands.map { "\($0)\nprintf '\\n\(mark) %s\\n' \"$?\"\n" }.joined()
        let all = try Servers.run(
            "/bin/bash",
            ["-s"],
            environment: ["TMPDIR": folder.path],
            input: Array(script.utf8)
        )
        var results: [(status: Int32, output: String)] = []
        var output: [Substring] = []
        for line in all.output.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix(mark), let status = Int32(line.dropFirst(mark.count + 1)) {
                results.append((status, output.joined(separator: "\n")))
                output = []
            } else {
                output.append(line)
            }
        }
        return results
    }
}
