import Foundation
import GatewayBench
import RequestPath
import TestSupport
import Testing

/// Corpora and mutations through the built binary. A strict backend checks what reaches it, on connections that stay
/// open over many requests, and the client's side is parsed as strictly.
@Suite(
    .serialized,
    .enabled(if: Corpus.isExpected, Corpus.absence),
    .enabled(if: Corpus.python != nil, "python3 is absent")
)
struct ReplayTests {
    private struct Result: Decodable {
        var id: String
        var cls: String
        var verdict: String
        var status: [Int]
        var forwarded: Int
        var findings: [String]
    }

    private struct Task: Encodable {
        var id: String
        var raw: String
        var `class` = "either"
    }

    /// Runs `h1replay_pooled.py` so that its gateways use the test's folder and serve the hosts that the requests name.
    private static let driver = """
        import sys, json
        sys.path.insert(0, sys.argv[1])
        import h1replay_gw, h1replay_pooled
        h1replay_gw.HERE = sys.argv[2]
        h1replay_gw.HOSTS = json.loads(sys.argv[3])
        sys.argv = sys.argv[:1] + sys.argv[4:]
        h1replay_pooled.main()
        """

    /// The values of `Host` in all items, where they are valid hosts.
    private static func hosts() throws -> [String] {
        var hosts: Set<String> = ["a"]
        for item in try Corpus.all() {
            for line in item.raw.split(whereSeparator: \.isNewline) where line.lowercased().hasPrefix("host:") {
                let value = line.dropFirst(5).trimmingCharacters(in: .whitespaces).lowercased()
                if Array(value.utf8).withUnsafeBufferPointer(HostField.isValid) { hosts.insert(value) }
            }
        }
        return hosts.sorted()
    }

    /// Replays a file of requests. `mode` says whether every path is `public` or `protected`.
    private static func replay(_ file: URL, mode: String, gateways: Int) throws -> [Result] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-replay-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = Process()
        process.executableURL = URL(filePath: Corpus.python ?? "")
        process.environment = ["PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"]
        process.arguments = [
            "-c", self.driver, TestData.directory.path, folder.path,
            String(decoding: try JSONEncoder().encode(self.hosts()), as: UTF8.self),
            "--bin", Gateway.binary.path, "--mode", mode, "--jobs", "\(gateways)",
            "--base", "\(try ServerPorts.take(inRow: 4 * gateways))", "--out", folder.appending(path: "out").path,
            file.path,
        ]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let name = "\(mode)-\(file.deletingPathExtension().lastPathComponent).json"
        let output = try Data(contentsOf: folder.appending(path: "out").appending(path: name))
        return try JSONDecoder().decode([Result].self, from: output)
    }

    private static func file(_ name: String) -> URL { TestData.file(name) }

    @Test(arguments: Corpus.files) func forwardsNothingThatCouldBeReadOtherwise(_ file: String) throws {
        let results = try Self.replay(Self.file(file), mode: "public", gateways: 8)
        #expect(results.count == (try Corpus.items(file)).count)
        #expect(results.contains { $0.status.contains(200) })
        for result in results {
            #expect(result.findings.isEmpty, "\(result.id): \(result.findings)")
            guard result.cls == "reject" else { continue }
            switch Judgements.table[result.id]?.verdict {
            case nil: #expect(result.verdict == "PASS", "\(result.id): \(result.verdict) \(result.status)")
            // An incomplete request gets 408 in time, or its connection closes.
            case .unfinished: #expect(result.verdict != "ACCEPTED", "\(result.id)")
            // Routing may refuse what the parser accepts.
            case .taken:
                #expect(result.verdict == "PASS" || result.status.first == 200, "\(result.id): \(result.status)")
            }
        }
    }

    @Test(arguments: Corpus.files) func forwardsNothingWithoutASession(_ file: String) throws {
        let results = try Self.replay(Self.file(file), mode: "protected", gateways: 8)
        #expect(results.count == (try Corpus.items(file)).count)
        #expect(results.contains { $0.status.contains(401) })
        for result in results {
            #expect(result.forwarded == 0 && result.findings.isEmpty, "\(result.id): \(result.findings)")
        }
    }

    @Test func mutationsDesynchroniseNoConnection() throws {
        let count = 5000
        var mutator = Mutator(seed: 0x9001)
        let encoder = JSONEncoder()
        let lines = try (0..<count).map { index in
            let task = Task(id: "\(index)", raw: String(decoding: mutator.next().flatMap(Self.scalar), as: UTF8.self))
            return String(decoding: try encoder.encode(task), as: UTF8.self) + "\n"
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-mutations-\(UUID()).jsonl")
        try lines.joined().write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let results = try Self.replay(file, mode: "public", gateways: 32)
        #expect(results.count == count)
        #expect(results.reduce(0) { $0 + $1.forwarded } > count / 10)
        for result in results where !result.findings.isEmpty {
            let line = Int(result.id).map { lines[$0] } ?? ""
            Issue.record("\(line): \(result.findings) \(result.status)")
        }
    }

    /// Each byte as the scalar of that number in UTF-8, which is how the corpora write bytes.
    private static func scalar(_ byte: UInt8) -> [UInt8] {
        byte < 0x80 ? [byte] : [0xC0 | byte >> 6, 0x80 | byte & 0x3F]
    }
}
