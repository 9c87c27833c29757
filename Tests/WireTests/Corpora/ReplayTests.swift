import Foundation
import RequestPath
import Testing

/// The corpora through the built binary: a strict backend judges what it is sent.
@Suite(
    .serialized,
    .enabled(if: Corpus.isExpected, Corpus.absence),
    .enabled(if: Gateway.python != nil, "python3 is absent")
)
struct ReplayTests {
    private struct Result: Decodable {
        var id: String
        var cls: String
        var verdict: String
        var status: [Int]
        var findings: [String]
    }

    /// `h1replay.py` forgets all connections before each item and so sees nothing of what comes on a kept one: here they
    /// are remembered, and only what came on them is forgotten.
    private static let driver = """
        import sys, json
        sys.path.insert(0, sys.argv[1])
        import h1replay
        class Kept(list):
            def clear(self):
                self[:] = [c for c in self if not c["pend"] and not c["err"]]
                for c in self: c["reqs"].clear()
        backend = h1replay.Backend(int(sys.argv[3]), sys.argv[4])
        backend.conns = Kept()
        h1replay.Backend = lambda port, mark: backend
        sys.argv = [sys.argv[0]] + sys.argv[2:]
        h1replay.main()
        """

    private static func hosts() throws -> [String] {
        var hosts: Set<String> = []
        for item in try Corpus.all() {
            for line in item.raw.split(whereSeparator: \.isNewline) where line.lowercased().hasPrefix("host:") {
                let value = line.dropFirst(5).trimmingCharacters(in: .whitespaces).lowercased()
                if Array(value.utf8).withUnsafeBufferPointer(HostField.isValid) { hosts.insert(value) }
            }
        }
        return hosts.sorted()
    }

    private static func replay(_ file: String) throws -> [Result] {
        let backend = try Gateway.freePort()
        let gateway = try Gateway(app: backend, hosts: self.hosts())
        defer { gateway.stop() }
        let output = FileManager.default.temporaryDirectory.appending(path: "sallyport-replay-\(UUID()).json")
        defer { try? FileManager.default.removeItem(at: output) }
        let process = Process()
        process.executableURL = URL(filePath: Gateway.python ?? "")
        process.environment = ["PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"]
        process.arguments = [
            "-c", self.driver, Corpus.directory.path, "\(gateway.port)", "\(backend)", "X-Forwarded-Proto",
            Corpus.directory.appending(path: file).path, output.path,
        ]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(gateway.isRunning)
        return try JSONDecoder().decode([Result].self, from: Data(contentsOf: output))
    }

    @Test(arguments: Corpus.files) func forwardsNothingThatCouldBeReadOtherwise(_ file: String) throws {
        let results = try Self.replay(file)
        #expect(results.count == (try Corpus.items(file)).count)
        #expect(results.contains { $0.status.contains(200) })
        for result in results {
            #expect(result.findings.isEmpty, "\(result.id): \(result.findings)")
            guard result.cls == "reject" else { continue }
            switch Judgements.table[result.id]?.verdict {
            case nil: #expect(result.verdict == "PASS", "\(result.id): \(result.verdict) \(result.status)")
            // What is not finished is answered 408 in time, or closed.
            case .unfinished: #expect(result.verdict != "ACCEPTED", "\(result.id)")
            // What the parser takes, routing may refuse.
            case .taken:
                #expect(result.verdict == "PASS" || result.status.first == 200, "\(result.id): \(result.status)")
            }
        }
    }
}
