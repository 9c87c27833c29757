import Foundation
package import GatewayBench
import Synchronization
import Vocabulary

/// A double of Kratos's public API and of two calls of its admin API, written from Kratos's source at version 25.4: its
/// session endpoints, a login flow of each kind, the exchange of codes, and its logouts. `KratosClientTests` checks its
/// documents by the client that Ory generates from Kratos's own schemas.
package final class KratosDouble: Sendable {
    /// What goes wrong with the calls of a path.
    package enum Fault: Sendable {
        case status(Int, body: String = #"{"error":{"code":500,"message":"as scripted"}}"#)
        /// No answer, until the double is healed.
        case hangs
        /// Every session is refused, as by a Kratos that has lost its database.
        case refusesAll
        case slow(Double)
        case closes
    }

    package let port: Int
    package var url: String { "http://127.0.0.1:\(self.port)" }
    private let state: Mutex<KratosState>
    private let faults = Mutex<[String: Fault]>([:])
    private let server: Mutex<FakeUpstream?>

    /// - Parameter publicURL: The URL by which browsers and apps reach it (`serve.public.base_url`): the gateway's.
    package init(publicURL: String) throws {
        self.port = try ServerPorts.take()
        self.state = Mutex(KratosState(publicURL: publicURL))
        self.server = Mutex(nil)
        try self.start()
    }

    deinit { self.stop() }

    package func start() throws {
        let server = try FakeUpstream(
            port: self.port,
            serve: FakeUpstream.answering { [weak self] in self?.answer($0, $1) }
        )
        self.server.withLock { $0 = server }
    }

    package func stop() {
        self.server.withLock { server in
            server?.stop()
            server = nil
        }
    }

    // MARK: Script

    /// Makes the calls of a path fail until it is healed.
    package func fail(_ path: String, with fault: Fault) { self.faults.withLock { $0[path] = fault } }

    package func heal() { self.faults.withLock { $0 = [:] } }

    /// A session of a user who has signed in.
    package func newSession(aal: String = "aal1", email: String = "ada@example.com") -> KratosState.Session {
        self.change { $0.newSession(email: email, aal: aal) }
    }

    /// Changes what it knows.
    package func change<Result: Sendable>(_ body: (inout KratosState) -> sending Result) -> sending Result {
        self.state.withLock { body(&$0) }
    }

    // MARK: What happened

    /// The requests to a path, the first one first.
    package func calls(of path: String) -> [Received] {
        self.server.withLock { $0?.requests ?? [] }.filter { $0.target.prefix { $0 != "?" } == path }
    }

    // MARK: Answers

    private func answer(_ link: Link, _ request: Received) {
        let call = KratosCall(request)
        switch self.faults.withLock({ $0[call.path] }) {
        case .status(let status, let body)?:
            return link.answer("\(status) Scripted", "Content-Type: application/json\r\n", body: body)
        case .hangs?:
            _ = eventually {
                if case .hangs? = self.faults.withLock({ $0[call.path] }) { false } else { true }
            }
            return link.wire.close()
        case .refusesAll?: return self.send(.error(401, "No valid session credentials found in the request."), on: link)
        case .slow(let seconds)?: Thread.sleep(forTimeInterval: seconds)
        case .closes?: return link.wire.close()
        case nil: break
        }
        self.send(self.state.withLock { $0.answer(to: call) }, on: link)
    }

    private func send(_ answer: KratosAnswer, on link: Link) {
        let fields = answer.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        link.answer("\(answer.status) \(StatusText.phrase(answer.status))", fields, body: answer.body)
    }
}

/// A request as Kratos reads it.
struct KratosCall {
    let method: String
    let path: String
    let query: [String: String]
    let body: [UInt8]
    private let request: Received

    init(_ request: Received) {
        self.request = request
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        (self.method, self.path, self.body) = (request.method, String(parts[0]), request.body)
        let pairs = FormText.pairs(parts.count > 1 ? Array(parts[1].utf8) : [])
        self.query = Dictionary(pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    func field(_ name: String) -> String? { self.request.values(name).first }

    func cookie(_ name: String) -> String? {
        (self.field("cookie") ?? "").split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }
            .first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
    }

    /// The members of a JSON body.
    var document: [String: JSONValue] {
        guard case .object(let members)? = JSONText.decode(self.body) else { return [:] }
        return members
    }

    var isJSON: Bool { self.field("accept") == "application/json" || self.field("content-type") == "application/json" }

    /// The client's address as Kratos takes it: the first of three fields, else the last address of X-Forwarded-For that
    /// is not private.
    var clientAddress: String? {
        for name in ["true-client-ip", "cf-connecting-ip", "x-real-ip"] {
            if let address = self.field(name) { return address }
        }
        let hops = self.request.values("x-forwarded-for").flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
        return hops.last { !$0.hasPrefix("10.") && !$0.hasPrefix("192.168.") && !$0.hasPrefix("127.") }
    }
}

struct KratosAnswer {
    var status: Int
    var fields: [(name: String, value: String)] = []
    var body = ""

    static func json(_ status: Int, _ value: JSONValue, _ fields: [(name: String, value: String)] = []) -> Self {
        Self(
            status: status,
            fields: [("Content-Type", "application/json; charset=utf-8")] + fields,
            body: String(decoding: JSONText.encode(value), as: UTF8.self)
        )
    }

    /// Herodot's envelope.
    static func error(
        _ status: Int,
        _ reason: String,
        id: String? = nil,
        message: String = "The request could not be served",
        beside: [String: JSONValue] = [:]
    ) -> Self {
        var error: [String: JSONValue] = [
            "code": .integer(Int64(status)), "status": .string(StatusText.phrase(status)), "reason": .string(reason),
            "message": .string(message),
        ]
        error["id"] = id.map { .string($0) }
        var answer = Self.json(status, .object(beside.merging(["error": .object(error)]) { $1 }))
        answer.fields[0].value = "application/json"
        if let id { answer.fields.append(("Ory-Error-Id", id)) }
        return answer
    }

    static func redirect(to url: String, _ fields: [(name: String, value: String)] = []) -> Self {
        Self(status: 303, fields: [("Location", url)] + fields)
    }
}
