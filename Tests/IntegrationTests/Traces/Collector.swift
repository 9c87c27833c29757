import Foundation
import GatewayBench
import Testing

/// A collector of traces that reads what it is sent by Google's protobuf, and keeps it.
struct Collector {
    /// The Python interpreter that has what is of OpenTelemetry.
    static let python = Servers.find([Gateway.root.appending(path: ".build/collector/bin/python").path])

    struct Span: Decodable {
        let service, trace, span, parent, name: String
        let kind, status: Int
        let links: [String]
        /// Numbers as texts.
        let attributes: [String: String]
    }

    struct State: Decodable {
        let spans: [Span]
        let faults: [String]

        /// The spans of a service, in the order in which they came.
        func of(_ service: String, _ kind: Int? = nil) -> [Span] {
            self.spans.filter { $0.service == service && (kind == nil || $0.kind == kind) }
        }

        func children(of span: Span) -> [Span] {
            self.spans.filter { $0.parent == span.span && $0.trace == span.trace }
        }
    }

    /// A file next to this source file.
    static func script(_ name: String) -> String {
        Gateway.root.appending(path: "Tests/IntegrationTests/Traces/\(name)").path
    }

    private let process: RealProcess
    /// Whether it speaks TLS.
    private let hasTLS: Bool

    /// - Parameters:
    ///   - certificate: The PEM files of a certificate and its key; nil: without TLS.
    ///   - asksClients: Whether clients have to show a certificate, which the same authority has signed.
    init(certificate: (chain: String, key: String)? = nil, asksClients: Bool = false) throws {
        guard let python = Self.python else { try Servers.missing("opentelemetry-proto") }
        self.hasTLS = certificate != nil
        self.process = try RealProcess(python) { port, _ in
            let files = certificate.map { [$0.chain, $0.key] + (asksClients ? [$0.chain] : []) } ?? []
            return [Self.script("trace-collector.py"), "\(port)"] + files
        }
        try self.process.start()
    }

    /// Ends it, and looks for secrets in all that it has taken.
    func stop() {
        if !self.hasTLS, let text = try? self.text("/spans") { #expect(Secrets.shared.found(in: text) == []) }
        self.process.stop()
    }

    /// Ends it for a while: its port is closed.
    func leave() { self.process.stop() }

    /// Starts it again, at the same port and without what it had.
    func comeBack() throws { try self.process.start() }

    var port: Int { self.process.port }
    var endpoint: String { "\(self.hasTLS ? "https" : "http")://127.0.0.1:\(self.port)" }

    /// What the gateway's settings need.
    func settings(_ more: String = "") -> String {
        "telemetry: {endpoint: \"\(self.endpoint)\"\(more)}"
    }

    /// The variables of a gateway that sends soon, and that drops no span.
    static let hurry = ["OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_BSP_MAX_QUEUE_SIZE": "100000"]

    /// The variables of a gateway that sends soon, drops no span, and gives up after so many milliseconds.
    static func hurry(patience: Int) -> [String: String] {
        Self.hurry.merging(["OTEL_BSP_EXPORT_TIMEOUT": "\(patience)"]) { $1 }
    }

    /// How it answers from now on.
    ///
    /// - Parameter retryAfter: The pause in seconds that it asks for; nil: none.
    func answer(_ status: Int, after seconds: Int = 0, retryAfter: Int? = nil) throws {
        let pause = retryAfter.map { "&retry=\($0)" } ?? ""
        try self.set("status=\(status)&seconds=\(seconds)\(pause)")
    }

    /// It takes spans from now on but for some of each request, and says why.
    func refuse(_ spans: Int, saying message: String) throws { try self.set("refused=\(spans)&message=\(message)") }

    private func set(_ mode: String) throws {
        let target = "/mode?\(mode)"
        _ = try Wire(to: self.port).request(
            "POST \(target) HTTP/1.1\r\nHost: c\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
    }

    /// What it has; not with TLS.
    var state: State {
        get throws { try JSONDecoder().decode(State.self, from: Data(try self.text("/spans").utf8)) }
    }

    /// How often it was asked to take spans.
    var requests: Int {
        get throws { try #require(Int(try self.text("/count"))) }
    }

    private func text(_ path: String) throws -> String {
        let request = "GET \(path) HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n"
        return try Wire(to: self.port).request(request, seconds: 60).text
    }

    /// Its state when it has so many spans.
    func state(with count: Int) throws -> State {
        try self.state { $0.spans.count >= count }
    }

    /// Its state when it is like this, or after a while.
    func state(when isThere: (State) -> Bool) throws -> State {
        _ = eventually { (try? self.state).map(isThere) ?? false }
        return try self.state
    }
}
