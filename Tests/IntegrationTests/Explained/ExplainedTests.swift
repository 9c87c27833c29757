import Dispatch
import Foundation
import GatewayBench
import Synchronization
import Testing

/// `explain` describes what really happens to a request.
@Suite("Explained requests", .blocking) struct ExplainedTests {
    /// The result of a request, as far as both can tell it.
    private enum Outcome: Equatable {
        case refused(Int, String?)
        case answered(Int)
        case login(isAgain: Bool)
        case withoutToken
        case endpoint
        /// The head that reached the app.
        case forwarded([String])
        case unclear(String)
    }

    private static let routes = """
          - path: /**
            client: web
          - path: /public/**
            auth: public
          - path: /optional/**
            auth: optional
            client: web
          - path: /admin/**
            require: {groups_any: [admins]}
          - path: /strong/**
            require: {aal: aal2}
          - path: /hook
            methods: [POST]
            cors: {origins: ["https://static.example.com"], methods: [POST]}
          - path: /small/**
            auth: public
            max_body: 10
          - path: /bound/**
            binding: asn
          - path: /bearer/**
            bearer: app
          - path: /login/**
            unauthenticated: login
          - path: /trusting/**
            trusted_origins: ["https://static.example.com"]
          - path: /own/**
            client: web
            handoff: false
        """

    private static let seed: UInt64 = 20_261_122

    @Test("The binary treats 500 generated requests as explain says")
    func generated() throws {
        let more = "secret_file: secret\nasn: {csv: asn.csv}\nlimits: {body: 1000}\n"
        let files = ["secret": String(repeating: "0123456789abcdef", count: 4), "asn.csv": "127.0.0.0/8,64500\n"]
        try Gateway.withApp({ Config.file(upstream: $0, routes: Self.routes, more: more) }, files: files) {
            gateway,
            app throws in
            var generator = SeededGenerator(seed: Self.seed)
            let requests = (0..<500).map { _ in GeneratedRequest(&generator) }
            var cookies: [User: String] = [:]
            var tokens: [User: String] = [:]
            for user in [User.ada, .grace, .mary] {
                cookies[user] = try gateway.browser(user)
                tokens[user] = try gateway.native(user)
            }
            let explained = Self.explain(requests, gateway)
            #expect(explained.count == requests.count)
            var kinds: [String: Int] = [:]
            for (request, said) in zip(requests, explained) {
                let done = try Self.send(request, gateway, app, cookies, tokens)
                let isEqual = done == said || request.method == "HEAD" && Self.isSame(done, said)
                #expect(isEqual, "\(request)\nexplained: \(said)\nwas: \(done)")
                kinds["\(said)".prefix { $0 != "(" }.description, default: 0] += 1
            }
            // Every kind of outcome occurs, which shows that the generator still covers them.
            for kind in ["refused", "answered", "login", "withoutToken", "forwarded"] {
                #expect((kinds[kind] ?? 0) >= 3, "\(kind): \(kinds)")
            }
        }
    }

    /// An answer to HEAD has no document with the reason.
    private static func isSame(_ done: Outcome, _ said: Outcome) -> Bool {
        if case .refused(let status, _) = done, case .refused(status, _) = said { return true }
        return false
    }

    // MARK: Sent

    private static func send(
        _ request: GeneratedRequest,
        _ gateway: Gateway,
        _ app: FakeUpstream,
        _ cookies: [User: String],
        _ tokens: [User: String]
    ) throws -> Outcome {
        var lines = ["\(request.method) \(request.target) HTTP/1.1", "Host: \(request.host)"] + request.fields
        var pairs = request.cookies
        switch request.live {
        case .none: break
        case .cookie(let user): pairs.append("sallyport=\(cookies[user] ?? "")")
        case .token(let user): lines.append("Authorization: Bearer \(tokens[user] ?? "")")
        }
        if !pairs.isEmpty { lines.append("Cookie: \(pairs.joined(separator: "; "))") }
        var text = lines.joined(separator: "\r\n") + "\r\n\r\n"
        if let length = request.bodyLength {
            text += length < 0 ? "5\r\nhello\r\n0\r\n\r\n" : String(repeating: "a", count: length)
        }
        let before = app.requests.count
        let answer = try gateway.request(text)
        let received = app.requests
        if received.count > before {
            return .forwarded(Self.comparable(received[before].lines))
        }
        if answer.status == 303, let location = answer.value("location") {
            guard location.hasPrefix("\(Request.origin)/.sallyport/login?") else { return .withoutToken }
            return .login(isAgain: location.hasSuffix("&prompt=login"))
        }
        guard answer.status >= 400 else { return .answered(answer.status) }
        return .refused(answer.status, answer.reason ?? answer.pageReason)
    }

    /// A head without the values that differ between requests and those that `explain` does not show.
    private static func comparable(_ head: [String]) -> [String] {
        head.map { line in
            for name in ["X-Request-Id", "X-Auth-Session-Id", "X-Auth-Authenticated-At", "Authorization"]
            where line.lowercased().hasPrefix("\(name.lowercased()):") {
                return "\(name): ..."
            }
            return line
        }
    }

    // MARK: Explained

    /// Explains all requests, with as many processes at a time as there are cores.
    private static func explain(_ requests: [GeneratedRequest], _ gateway: Gateway) -> [Outcome] {
        let outcomes = Mutex<[Int: Outcome]>([:])
        DispatchQueue.concurrentPerform(iterations: requests.count) { index in
            let outcome: Outcome
            do {
                outcome = try Self.explain(requests[index], gateway)
            } catch {
                outcome = .unclear("\(error)")
            }
            outcomes.withLock { $0[index] = outcome }
        }
        return outcomes.withLock { all in requests.indices.map { all[$0] ?? .unclear("not explained") } }
    }

    private static func explain(_ request: GeneratedRequest, _ gateway: Gateway) throws -> Outcome {
        var arguments = ["explain", "--config", gateway.folder.appending(path: "settings.yaml").path]
        arguments += ["--insecure-http", "--insecure-unnamed-proxy"]
        arguments += ["--url", "http://\(request.host)\(request.target)", "--method", request.method]
        arguments += request.fields.map { "--header=\($0)" }
        if !request.cookies.isEmpty { arguments.append("--header=Cookie: \(request.cookies.joined(separator: "; "))") }
        var input: [UInt8] = []
        switch request.live {
        case .none: break
        case .cookie(let user): arguments += ["--user", user.identifier]
        case .token(let user):
            arguments += ["--user", user.identifier, "--token-file", "-"]
            input = Array("sps_any".utf8)
        }
        let result = try Servers.run(Gateway.binary.path, arguments, input: input)
        guard result.status == 0 else { return .unclear(result.output) }
        return Self.outcome(result.output)
    }

    private static func outcome(_ output: String) -> Outcome {
        let lines = output.split(separator: "\n").map(String.init)
        if let start = lines.firstIndex(of: "head towards the app") {
            let head = lines[(start + 1)...].prefix { $0.hasPrefix("  ") }
            return .forwarded(Self.comparable(head.map { String($0.dropFirst(2)) }))
        }
        for line in lines.reversed() {
            if let refused = line.wholeMatch(of: #/  refused: (\d+) [A-Za-z ]+, ([a-z_.]+).*/#) {
                return .refused(Int(refused.1) ?? 0, String(refused.2))
            }
            if let answered = line.wholeMatch(of: #/  answered: (\d+) .*/#) { return .answered(Int(answered.1) ?? 0) }
            if line.hasPrefix("  303 to the login page") {
                return .login(isAgain: line.contains("to sign in again"))
            }
            if line.hasPrefix("  303 to the same URL") { return .withoutToken }
            if line.hasPrefix("  answered by the gateway's own") { return .endpoint }
        }
        return .unclear(output)
    }
}
