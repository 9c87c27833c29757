import Foundation
import GatewayBench
import RedisServers
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

/// Whether the tests run in their long form.
let isSoak = ProcessInfo.processInfo.environment["SOAK"] == "1"

/// Gateways that share one secret, one Redis and one app.
final class Fleet: Sendable {
    private struct State {
        var gateways: [Gateway]
    }

    let app: FakeUpstream
    private let settings: String
    private let secret: String
    private let urls: [String]
    private let skews: [Duration]
    private let state: Mutex<State>

    /// The number of clients that may mint. There are several, because minting is limited per client.
    static let clientCount = 10

    private init(
        urls: [String],
        secret: String?,
        skews: [Duration],
        lifetime: String,
        loops: Int,
        logsAccess: Bool,
        more: String
    ) throws {
        // This app does not record its requests, since there may be very many.
        self.app = try FakeUpstream { link in
            while let request = link.nextHead() { link.answer(body: request.text) }
        }
        self.urls = urls
        self.skews = skews
        self.secret = secret ?? Self.newSecret()
        Secrets.shared.note(self.secret)
        let clients = (0..<Self.clientCount).map { number in
            """
              - client_id: native-\(number)
                session_transfer:
                  can_create_session_transfer_token: true
            """
        }
        self.settings = Config.file(
            upstream: self.app.port,
            clients: Config.clients(binding: "none", more: clients.joined(separator: "\n")),
            loops: loops,
            more: """
                secret_file: secret
                handoff:
                  lifetime: \(lifetime)
                log:
                  access: \(logsAccess)
                \(more)
                """
        )
        self.state = Mutex(State(gateways: []))
        do {
            for index in urls.indices { try self.state.withLock { $0.gateways.append(try self.newGateway(index)) } }
        } catch {
            self.stop()
            throw error
        }
    }

    /// A secret for the gateways of a region.
    static func newSecret() -> String {
        (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined(separator: "-")
    }

    /// Runs `body` with a gateway for each URL. Afterwards all are stopped, and their output is searched for secrets.
    ///
    /// - Parameters:
    ///     - secret: The secret of all gateways; nil: a new one.
    ///     - skews: By how much the clock of each gateway's machine is ahead; empty: no clock is.
    ///     - lifetime: The lifetime of transfer tokens.
    ///     - loops: The number of event loops of each gateway.
    ///     - logsAccess: Whether every request is logged, so that the search for secrets covers it.
    ///     - more: Further settings.
    @discardableResult
    static func with<Result>(
        _ urls: [String],
        secret: String? = nil,
        skews: [Duration] = [],
        lifetime: String = "60s",
        loops: Int = 1,
        logsAccess: Bool = true,
        more: String = "",
        _ body: (Fleet) async throws -> Result
    ) async throws -> Result {
        let fleet = try Fleet(
            urls: urls,
            secret: secret,
            skews: skews,
            lifetime: lifetime,
            loops: loops,
            logsAccess: logsAccess,
            more: more
        )
        defer { fleet.stop() }
        return try await body(fleet)
    }

    private func newGateway(_ index: Int) throws -> Gateway {
        var environment = ["SALLYPORT_REDIS_URL": self.urls[index]]
        if !self.skews.isEmpty { environment.merge(try FakeTime.environment(aheadBy: self.skews[index])) { $1 } }
        return try Gateway(self.settings, files: ["secret": self.secret + "\n"], environment: environment)
    }

    private func stop() {
        for gateway in self.state.withLock({ $0.gateways }) { gateway.stop() }
        self.app.stop()
    }

    var count: Int { self.urls.count }

    subscript(_ index: Int) -> Gateway { self.state.withLock { $0.gateways[index] } }

    /// Waits until all gateways are ready.
    func waitUntilReady() async throws {
        for index in self.urls.indices {
            try await waitUntil("gateway \(index) is ready") { try self[index].admin("/readyz").status == 200 }
        }
    }

    /// Why tokens were refused, by `Consumer.label(of:)`, from the audit streams of the running gateways.
    func refusals() -> [String: Set<String>] {
        var reasons: [String: Set<String>] = [:]
        for gateway in self.state.withLock({ $0.gateways }) {
            for line in gateway.output.split(separator: "\n") where line.contains(#""event":"transfer_token.re"#) {
                guard let label = line.firstMatch(of: /"user_agent":"([^"]+)"/),
                    let reason = line.firstMatch(of: /"reason":"([^"]+)"/)
                else { continue }
                reasons[String(label.1), default: []].insert(String(reason.1))
            }
        }
        return reasons
    }

    /// Kills a gateway without warning and starts another in its place, on another port.
    func replace(_ index: Int) throws {
        let old = self[index]
        old.signal(SIGKILL)
        _ = old.exitStatus()
        old.stop()
        let new = try self.newGateway(index)
        self.state.withLock { $0.gateways[index] = new }
    }
}

/// Repeats `body` until it succeeds, for a few seconds. On a busy machine Redis may miss its deadline of 100 ms, and
/// the setup of a test must not depend on that.
func patiently<Result>(_ body: () throws -> Result) throws -> Result {
    for _ in 0..<50 {
        if let result = try? body() { return result }
        usleep(100_000)
    }
    return try body()
}

/// The URLs of one Redis in every kind of deployment.
enum RedisURLs {
    static func standalone(_ port: Int) -> String { "redis://\(loopback):\(port)" }

    static func sentinels(_ group: RedisSentinelGroup) -> String {
        let addresses = group.sentinels.map { "\(loopback):\($0.port)" }
        return "redis+sentinel://\(addresses.joined(separator: ","))/\(RedisSentinelGroup.name)"
    }

    static func cluster(_ cluster: RedisCluster) -> String {
        "redis+cluster://" + cluster.primaries.map { "\(loopback):\($0.port)" }.joined(separator: ",")
    }
}
