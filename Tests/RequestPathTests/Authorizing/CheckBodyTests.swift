import AddressIntelligence
import NIOCore
import NIOEmbedded
import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("Checks with a body")
struct CheckBodyTests {
    /// A form whose body has a line each for the method, the target and the host of the request, and then its fields.
    private enum Question: CheckBody {
        static let limit = 256

        static func writeHead(
            of body: [UInt8],
            needsAddress: Bool,
            into buffer: inout ByteBuffer
        ) throws(Reason) {
            let lines = String(decoding: body, as: UTF8.self).split(separator: "\n")
            guard lines.count >= 3 else { throw .authorizationMetadata }
            guard !needsAddress || lines.contains(where: { $0.hasPrefix("X-Forwarded-For: ") }) else {
                throw .authorizationAddress
            }
            let fields = ["Host: \(lines[2])"] + lines.dropFirst(3).map(String.init)
            buffer.writeString("\(lines[0]) \(lines[1]) HTTP/1.1\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n")
        }
    }

    private static let path = "/authz/in-body"

    private static func bench(_ change: (inout Settings) -> Void = { _ in }) throws -> CheckBench {
        let form = CheckForm(dialect: .forwardAuth, source: .body(Question.self))
        return try CheckBench(forms: CheckForms([(path: Self.path, form: form)]), change)
    }

    private static func head(_ framing: String...) -> [String] {
        ["POST \(Self.path) HTTP/1.1", "Host: gateway:9092", "X-Session-Token: of the check"] + framing
    }

    private static func body(_ path: String, _ fields: [String] = []) -> String {
        (["GET", path, "app.example.com"] + fields).joined(separator: "\n")
    }

    @Test("The request that the body describes is judged when the body is whole, and another check may follow")
    func question() throws {
        let bench = try Self.bench()
        let client = bench.bench.client
        let body = Self.body("/app/x", ["X-Session-Token: \(try bench.token())"])
        let (first, rest) = (body.prefix(20), body.dropFirst(20))
        #expect(try bench.ask(Self.head("Content-Length: \(body.utf8.count)"), body: String(first)).text.isEmpty)
        #expect(client.isAsked && client.ends.isEmpty)
        client.input = ByteBuffer(string: String(rest))
        client.passBody()
        bench.bench.eventLoop.run()
        let verdict = CheckBench.Verdict(client.sent)
        #expect(verdict.status == 200 && verdict["x-auth-subject"] == ["ada"], "\(verdict.text)")
        let chunked = String(body.utf8.count, radix: 16) + "\r\n\(body)\r\n0\r\n\r\n"
        #expect(try bench.ask(Self.head("Transfer-Encoding: chunked"), body: chunked)["x-auth-subject"] == ["ada"])
        let anonymous = Self.body("/app/x")
        #expect(try bench.ask(Self.head("Content-Length: \(anonymous.utf8.count)"), body: anonymous).status == 401)
        #expect(client.ends == [.next, .next, .next])
    }

    @Test(
        "A body that does not describe one request is refused, and the connection goes on",
        arguments: ["", "GET\n/open/x", "GET\n/open/x\napp.example.com\n\r\nHost: app.example.com", "GET\n/open/ x\na"]
    )
    func otherQuestion(_ body: String) throws {
        let bench = try Self.bench()
        let verdict = try bench.ask(Self.head("Content-Length: \(body.utf8.count)"), body: body)
        #expect(verdict.status == 400, "\(verdict.text)")
        #expect(bench.bench.client.ends == [.next])
    }

    @Test("A form is asked for the client's address where one is needed")
    func address() throws {
        let bench = try Self.bench { $0.hosts[0].routes[1].liveBinding = .ip }
        let nobody = Self.body("/open/x")
        let refused = try bench.ask(Self.head("Content-Length: \(nobody.utf8.count)"), body: nobody)
        #expect(refused.status == 400 && refused.reason == Reason.authorizationAddress.rawValue)
        let named = Self.body("/open/x", ["X-Forwarded-For: 198.51.100.7"])
        #expect(try bench.ask(Self.head("Content-Length: \(named.utf8.count)"), body: named).status == 200)
    }

    @Test("A body over the limit, or damaged, or too slow, ends the connection and is no question")
    func faults() throws {
        let body = Self.body("/open/x")
        let large = body + String(repeating: "\nX-Long: 1", count: 30)
        for (framing, text, reason) in [
            ("Content-Length: \(large.utf8.count)", large, Reason.requestBodyTooLarge),
            ("Transfer-Encoding: chunked", "x\r\n", .requestFraming),
            ("Content-Length: \(body.utf8.count)", String(body.dropLast()), .requestTimeout),
        ] {
            let bench = try Self.bench()
            var verdict = try bench.ask(Self.head(framing), body: text)
            if reason == .requestTimeout {
                #expect(verdict.text.isEmpty)
                bench.bench.exchange.sweep(.now() + .hours(1))
                verdict = CheckBench.Verdict(bench.bench.client.sent)
            }
            #expect(verdict.status == reason.status && verdict.reason == reason.rawValue, "\(verdict.text)")
            #expect(verdict["connection"] == ["close"] && bench.bench.client.ends == [.close])
        }
    }

    @Test("Nothing is collected of whoever may not ask")
    func peers() throws {
        let bench = try Self.bench { $0.authorization?.peers = ["10.0.0.0/8"].compactMap { CIDRBlock($0) } }
        let verdict = try bench.ask(Self.head("Content-Length: 77"))
        #expect(verdict.status == 403 && verdict.reason == Reason.authorizationPeer.rawValue)
        #expect(bench.bench.client.ends == [.close])
    }

    @Test("A check of Envoy is judged when the body of its client has come, and its connection is used again")
    func envoy() throws {
        let bench = try CheckBench()
        let client = bench.bench.client
        let fields = ["X-Session-Token: \(try bench.token())", "Content-Length: 11"]
        #expect(try bench.extAuthz("POST", "/app/x", fields).text.isEmpty)
        client.input = ByteBuffer(string: "hello world")
        client.passBody()
        bench.bench.eventLoop.run()
        let verdict = CheckBench.Verdict(client.sent)
        #expect(verdict.status == 200 && verdict["x-auth-subject"] == ["ada"], "\(verdict.text)")
        #expect(try bench.extAuthz("GET", "/open/x").status == 200)
        #expect(client.ends == [.next, .next])
        // A client that leaves before its check is whole has asked for nothing.
        #expect(try bench.extAuthz("POST", "/open/x", ["Content-Length: 2"]).text.isEmpty)
        #expect(!bench.bench.exchange.clientEnded())
        bench.bench.exchange.clientLeft()
        #expect(client.ends == [.next, .next])
    }

    @Test(
        "A body of Envoy that is long or has no length is not waited for",
        arguments: ["Content-Length: 65537", "Transfer-Encoding: chunked"]
    )
    func longBody(_ framing: String) throws {
        let bench = try CheckBench()
        #expect(try bench.extAuthz("POST", "/open/x", [framing]).status == 200)
        #expect(bench.bench.client.ends == [.close])
    }
}
