import Calls
import NIOCore
import NIOPosix
import NIOSSL
import Providers
import RedisServers
import Settings
import Synchronization
import Testing
import Transport
import Vocabulary

/// Servers close idle connections when they like: also while a call is on its way.
@Suite("Calls to providers on connections that served other calls")
struct KeptConnectionTests {
    private static let group = MultiThreadedEventLoopGroup.singleton
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// A provider on loopback that answers the first call, and reacts to each further one as the list says, then answers.
    private struct Bench {
        enum Way: CaseIterable { case plain, tls, tunnel }

        let transport: HTTPCallTransport
        let url: String
        let server: RawServer

        static func with(
            _ reactions: [RawServer.Reaction],
            _ way: Way = .plain,
            _ body: (Bench) async throws -> Void
        ) async throws {
            let certificates = try Certificates()
            let host = way == .tunnel ? "idp.kept.invalid" : "localhost"
            let (certificate, key) = try certificates.issue("idp", to: host)
            let tls = try NIOSSLContext(
                configuration: .makeServerConfiguration(
                    certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
                    privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
                )
            )
            let script = Mutex([.answer(KeptConnectionTests.ok)] + reactions)
            let server = try await RawServer.start(KeptConnectionTests.group, tls: way == .plain ? nil : tls) { _ in
                script.withLock { $0.isEmpty ? .answer(KeptConnectionTests.ok) : $0.removeFirst() }
            }
            let proxy = try await TestProxy.start(KeptConnectionTests.group) { [port = server.port] _ in
                .tunnel(port)
            }
            // Also where many tests share few processors.
            try await withProviderClient(idleTime: .minutes(5)) { client in
                var proxies = OutgoingProxies()
                if way == .tunnel {
                    proxies = try ProxiedCallTests.proxies(["HTTPS_PROXY": "http://127.0.0.1:\(proxy.port)"])
                }
                let transport = try client.transport(caFile: certificates.authority, proxies: proxies)
                let url =
                    switch way {
                    case .plain: "http://127.0.0.1:\(server.port)/"
                    case .tls: "https://localhost:\(server.port)/"
                    case .tunnel: "https://\(host)/"
                    }
                let bench = Bench(transport: transport, url: url, server: server)
                #expect(try await transport.send(OutgoingCall("GET", url)).status == 200)
                try await bench.settle()
                try await body(bench)
            }
            try await proxy.stop()
            try await server.stop()
        }

        /// Returns when a connection whose answer has come can be used again.
        func settle() async throws {
            try await ProviderClientBench.group.get().next().submit {}.get()
        }
    }

    private static let questions: [(method: String, purpose: OutgoingCall.Purpose, body: String)] = [
        ("GET", .metadata, ""), ("GET", .keys, ""), ("GET", .userinfo, ""), ("GET", .session, ""),
        ("HEAD", .health, ""),
        ("POST", .introspection, "token=a"),
    ]

    @Test("A question whose kept connection ends is asked once more, on a new one", arguments: Self.questions)
    func again(_ method: String, _ purpose: OutgoingCall.Purpose, _ body: String) async throws {
        for way in Bench.Way.allCases {
            let head = "HTTP/1.1 200 OK\r\n\r\n"
            try await Bench.with([.close] + (method == "HEAD" ? [.answer(head)] : []), way) { bench in
                let call = OutgoingCall(method, bench.url, for: purpose, body: Array(body.utf8))
                let answer = try await bench.transport.send(call)
                #expect(answer.status == 200, "\(way)")
                #expect(bench.server.requests.count == 3 && bench.server.connections == 2, "\(way)")
                #expect(bench.server.requests[1] == bench.server.requests[2])
            }
        }
    }

    @Test("It is asked no third time, and in no more than its time")
    func onlyOnce() async throws {
        try await Bench.with([.close, .close]) { bench in
            let error = try #require(await bench.transport.failure(of: OutgoingCall("GET", bench.url)))
            #expect(!error.isUnsent && error.cause == .other)
            #expect(bench.server.requests.count == 3 && bench.server.connections == 2)
        }
        try await Bench.with([.close, .silence]) { bench in
            let call = OutgoingCall("GET", bench.url, timeLimit: .seconds(3))
            let error = try #require(await bench.transport.failure(of: call))
            #expect(!error.isUnsent && error.cause == .time && bench.server.requests.count == 3)
        }
    }

    @Test(
        "An answer that has begun is not asked for again, nor one that is late",
        arguments: [
            RawServer.Reaction.answerAndClose("HTTP/1.1 2"),
            .answerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
            .answer("what?\r\n\r\n"), .silence,
        ]
    )
    func begun(_ reaction: RawServer.Reaction) async throws {
        try await Bench.with([reaction]) { bench in
            let call = OutgoingCall("GET", bench.url, timeLimit: .seconds(3))
            #expect(await bench.transport.failure(of: call)?.isUnsent == false)
            #expect(bench.server.requests.count == 2 && bench.server.connections == 1)
        }
    }

    @Test(
        "What has an effect, or a proof that is good for one request, is sent once, on a new connection",
        arguments: [
            ("POST", OutgoingCall.Purpose.token, ""), ("POST", .revocation, ""), ("DELETE", .revocation, ""),
            ("GET", .revocation, ""), ("GET", .exchange, ""), ("GET", .userinfo, "dpop"),
            ("POST", .introspection, "dpop"),
        ]
    )
    func once(_ method: String, _ purpose: OutgoingCall.Purpose, _ field: String) async throws {
        for way in Bench.Way.allCases {
            try await Bench.with([.close], way) { bench in
                let fields = field.isEmpty ? [] : [(name: field, value: "a")]
                let call = OutgoingCall(method, bench.url, for: purpose, fields: fields)
                #expect(await bench.transport.failure(of: call)?.isUnsent == false)
                #expect(bench.server.requests.count == 2 && bench.server.connections == 2, "\(way)")
            }
        }
    }

    @Test("A question may follow on the connection of a call that has an effect")
    func follows() async throws {
        try await Bench.with([]) { bench in
            try await bench.settle()
            _ = try await bench.transport.send(OutgoingCall("POST", bench.url))
            try await bench.settle()
            _ = try await bench.transport.send(OutgoingCall("GET", bench.url, for: .userinfo))
            #expect(bench.server.requests.count == 3 && bench.server.connections == 2)
        }
    }

    @Test("Calls of both kinds at once have all the connections that there may be, and none waits for an idle one")
    func room() async throws {
        try await Bench.with([]) { bench in
            let (transport, url) = (bench.transport, bench.url)
            for _ in 0..<5 {
                await withTaskGroup(of: Int?.self) { group in
                    for index in 0..<40 {
                        let call = OutgoingCall(index % 2 == 0 ? "GET" : "POST", url, timeLimit: .seconds(20))
                        group.addTask { try? await transport.send(call).status }
                    }
                    for await status in group { #expect(status == 200) }
                }
                try await bench.settle()
                let answer = try await transport.send(OutgoingCall("POST", url))
                #expect(answer.status == 200)
            }
            #expect(bench.server.requests.count == 206)
        }
    }
}
