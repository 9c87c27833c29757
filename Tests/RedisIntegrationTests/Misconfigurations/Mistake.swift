import Foundation
import GatewayBench
import RedisServers
import Synchronization
import Testing

/// One configuration of Redis, wrong or right, and what `check --network` reports about it.
struct Mistake: Sendable {
    let name: String
    let url: String
    /// The expected lines in order, without level and address: all that are not `ok`, except those about persistence
    /// and clocks. Empty: no other line is expected.
    let says: [String]
    /// An additional line under `store.redis`.
    var setting = ""

    init(_ name: String, _ url: String, says: String..., setting: String = "") {
        self.name = name
        self.url = url
        self.says = says
        self.setting = setting
    }

    /// The password of every user in the tests. It must not appear in any output.
    static let password = "redis-password-canary-9876543210"

    /// Runs `sallyport check --network` for each and compares the output, two at a time.
    static func expect(_ mistakes: [Mistake], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("\(String(repeating: "s", count: 48))\n".utf8).write(to: folder.appending(path: "secret"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, mistake) in mistakes.enumerated() {
                if index >= 2 { try await group.next() }
                group.addTask { try mistake.expect(in: folder, index, sourceLocation) }
            }
            try await group.waitForAll()
        }
    }

    private func expect(in folder: URL, _ index: Int, _ sourceLocation: SourceLocation) throws {
        let url = folder.appending(path: "url-\(index)")
        try Data("\(self.url)\n".utf8).write(to: url)
        let yaml = Config.file(
            upstream: 1,
            more: """
                secret_file: \(folder.appending(path: "secret").path)
                store:
                  redis:
                    url_file: \(url.path)
                    \(self.setting)
                """
        )
        let file = folder.appending(path: "check-\(index).yaml")
        try Data(yaml.utf8).write(to: file)
        let (status, output) = try Servers.run(
            Gateway.binary.path,
            ["check", "--quiet", "--network", "--config", file.path, "--insecure-http"]
        )
        let lines = output.split(separator: "\n").drop { $0 != "network:" }.dropFirst().compactMap(Self.finding)
        let told = lines.filter { $0.level != "ok" }
        #expect(!lines.isEmpty, "\(self.name): \(output)", sourceLocation: sourceLocation)
        #expect(told.map(\.finding) == self.says, "\(self.name): \(output)", sourceLocation: sourceLocation)
        let isError = told.contains { $0.level == "error" }
        #expect(status == (isError ? 1 : 0), "\(self.name): \(output)", sourceLocation: sourceLocation)
        #expect(!output.contains(Self.password), "\(self.name)", sourceLocation: sourceLocation)
    }

    /// Parses `  error    127.0.0.1:6379 role: it is a replica` and leaves out the address.
    private static func finding(_ line: Substring) -> (level: String, finding: String)? {
        let words = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard words.count == 2, ["ok", "warning", "error"].contains(words[0]) else { return nil }
        var rest = words[1].drop { $0 == " " }
        if let address = rest.firstRange(of: " "), rest[..<address.lowerBound].contains(/[:\/]\S/) {
            rest = rest[address.upperBound...]
        }
        guard !rest.hasPrefix("persistence: "), !rest.hasPrefix("clock: ") else { return nil }
        return (String(words[0]), String(rest))
    }
}

/// A server that answers every connection in the same way, for answers that the installed Redis does not give.
final class OddServer: Sendable {
    let port: Int
    private let server: FakeUpstream

    /// - Parameters:
    ///     - greeting: Sent at once.
    ///     - answers: Sent one after the other, each after some bytes have arrived; then the connection ends.
    init(greeting: String = "", answers: [String] = []) throws {
        self.server = try FakeUpstream { link in
            link.send(greeting)
            for answer in answers {
                guard case .bytes = link.wire.receive(seconds: 10) else { return }
                link.send(answer)
            }
        }
        self.port = self.server.port
    }

    /// A server that sends nothing.
    init(silentFor seconds: Double) throws {
        self.server = try FakeUpstream { link in
            let end = Date().addingTimeInterval(seconds)
            while case .bytes = link.wire.receive(seconds: max(end.timeIntervalSinceNow, 0.01)) {}
        }
        self.port = self.server.port
    }

    func stop() { self.server.stop() }

    /// The answer to `INFO` of a primary with this version.
    static func info(version: String, role: String = "master") -> String {
        let text =
            "redis_version:\(version)\r\nrole:\(role)\r\nmaster_replid:\(String(repeating: "a", count: 40))\r\n"
        return "$\(text.utf8.count)\r\n\(text)\r\n"
    }
}
