import Calls
import NIOCore
import NIOPosix
import NIOSSL
import Providers
import RedisServers
import TestSupport
import Testing
import Transport
import Vocabulary

@Suite("Calls to providers over HTTP")
struct HTTPProviderTransportTests {
    private static let group = MultiThreadedEventLoopGroup.singleton

    @Test("A call sends its method, fields and body; the answer has status, fields in lower case, and body")
    func call() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answer("HTTP/1.1 201 Created\r\nX-One: 1\r\nDPoP-Nonce: n\r\nContent-Length: 5\r\n\r\nhello")
        }
        try await withProviderClient { client in
            let call = OutgoingCall(
                "POST",
                "http://127.0.0.1:\(server.port)/token?a=b",
                fields: [("content-type", "text/plain"), ("authorization", "Basic YTpi")],
                body: Array("body".utf8)
            )
            let answer = try await client.transport().send(call)
            #expect(answer.status == 201 && answer.body == Array("hello".utf8))
            #expect(answer.field("x-one") == "1" && answer.field("dpop-nonce") == "n")
            let request = try #require(server.requests.first)
            #expect(request.hasPrefix("POST /token?a=b HTTP/1.1\r\n") && request.hasSuffix("\r\n\r\nbody"))
            for line in [
                "content-type: text/plain", "authorization: basic ytpi", "content-length: 4", "user-agent: sallyport",
                "host: 127.0.0.1:\(server.port)", "accept-encoding: identity",
            ] {
                #expect(request.lowercased().contains("\r\n\(line)\r\n"), "\(line)")
            }
        }
        try await server.stop()
    }

    @Test("A redirect is an answer and is not followed")
    func redirect() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answer("HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
        }
        try await withProviderClient { client in
            let answer = try await client.transport().send(OutgoingCall("GET", "http://127.0.0.1:\(server.port)/"))
            #expect(answer.status == 302 && server.requests.count == 1)
        }
        try await server.stop()
    }

    @Test(
        "An answer larger than the limit is an error, announced or not",
        arguments: [
            "Content-Length: 11\r\n\r\n12345678901", "Transfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n0\r\n\r\n",
        ]
    )
    func large(_ rest: String) async throws {
        let server = try await RawServer.start(Self.group) { _ in .answer("HTTP/1.1 200 OK\r\n\(rest)") }
        try await withProviderClient { client in
            let url = "http://127.0.0.1:\(server.port)/"
            let transport = try client.transport()
            let error = await transport.failure(of: OutgoingCall("GET", url, bodyLimit: 10))
            #expect(error?.isUnsent == false && error?.detail.contains("more than 10 bytes") == true)
            #expect(error?.status == 200)
            #expect(try await transport.send(OutgoingCall("GET", url, bodyLimit: 11)).body.count == 11)
        }
        try await server.stop()
    }

    @Test(
        "A server that answers late, never, or half is an error of a call that was sent",
        arguments: [
            RawServer.Reaction.silence, .close, .answer("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
            .answerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), .answer("what?\r\n\r\n"),
        ]
    )
    func sent(_ reaction: RawServer.Reaction) async throws {
        let server = try await RawServer.start(Self.group) { _ in reaction }
        try await withProviderClient { client in
            for body in ["", "refresh_token=secret-1"] {
                let call = OutgoingCall(
                    body.isEmpty ? "GET" : "POST",
                    "http://127.0.0.1:\(server.port)/?a=secret-2",
                    fields: [("authorization", "Bearer secret-3")],
                    body: Array(body.utf8),
                    timeLimit: .milliseconds(300)
                )
                let error = try #require(try await client.transport().failure(of: call))
                #expect(!error.isUnsent && error.detail.contains("127.0.0.1") && !error.detail.contains("secret"))
            }
        }
        try await server.stop()
    }

    @Test("A call that cannot reach a server was not sent: no server, no address, a URL that is not allowed")
    func unsent() async throws {
        try await withProviderClient { client in
            let transport = try client.transport()
            for url in [
                "http://127.0.0.1:1/", "https://127.0.0.1:1/", "https://no-such-name.invalid/",
                "http://192.0.2.1/", "file:///etc/passwd", "http+unix://%2Ftmp%2Fa/", "unix:///tmp/a", "https://a@b/",
            ] {
                let call = OutgoingCall("POST", url, body: Array("a=b".utf8), timeLimit: .seconds(2))
                let error = await transport.failure(of: call)
                #expect(error?.isUnsent == true, "\(url)")
            }
        }
    }

    @Test("A field value that is not allowed is refused and not shown")
    func badField() async throws {
        try await withProviderClient { client in
            let call = OutgoingCall("GET", "http://127.0.0.1:9/", fields: [("authorization", "secret\r\nX: y")])
            let error = try await client.transport().failure(of: call)
            #expect(error?.isUnsent == true && error?.detail.contains("secret") == false)
        }
    }

    @Test("TLS is verified with the system's certificates or with those of ca_file, and for the host's name")
    func tls() async throws {
        let certificates = try Certificates()
        let (certificate, key) = try certificates.issue("idp", to: "localhost")
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
            )
        )
        let server = try await RawServer.start(Self.group, tls: context) { _ in
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        try await withProviderClient { client in
            let call = OutgoingCall("POST", "https://localhost:\(server.port)/", body: Array("a=b".utf8))
            let stranger = try #require(try await client.transport().failure(of: call))
            #expect(stranger.isUnsent && stranger.detail.contains("TLS"), "\(stranger)")
            let trusting = try client.transport(caFile: certificates.authority)
            #expect(try await trusting.send(call).status == 200)
            // The certificate has no address.
            let address = OutgoingCall("POST", "https://127.0.0.1:\(server.port)/", body: Array("a=b".utf8))
            #expect(await trusting.failure(of: address)?.isUnsent == true)
            // A connection that was made with one trust serves no call with another.
            #expect(try await client.transport().failure(of: call)?.isUnsent == true)
            #expect(throws: CallTLSError.self) { try client.transport(caFile: "/no/such/file.pem") }
        }
        try await server.stop()
    }

    @Test("A call that is cancelled ends, and after the shutdown no call is sent")
    func ended() async throws {
        let server = try await RawServer.start(Self.group) { _ in .silence }
        let client = CallClient(group: try ProviderClientBench.group.get())
        let transport = try client.transport()
        let call = OutgoingCall("GET", "http://127.0.0.1:\(server.port)/", timeLimit: .seconds(60))
        let task = Task { await transport.failure(of: call) }
        try await waitUntil("a request") { !server.requests.isEmpty }
        task.cancel()
        #expect(await task.value?.isUnsent == false)
        await client.shutdown()
        #expect(await transport.failure(of: call)?.isUnsent == true)
        #expect(server.requests.count == 1)
        try await server.stop()
    }

    @Test("Calls one after the other use a connection again")
    func reuse() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        try await withProviderClient { client in
            for _ in 0..<20 {
                _ = try await client.transport().send(OutgoingCall("GET", "http://127.0.0.1:\(server.port)/"))
            }
            // The client returns an answer a moment before its connection is free again,
            // so a call can need another connection where the machine is busy.
            #expect(server.requests.count == 20 && server.connections < 10)
        }
        try await server.stop()
    }

    @Test("More calls at once than connections wait for each other")
    func many() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        try await withProviderClient { client in
            let transport = try client.transport()
            let url = "http://127.0.0.1:\(server.port)/"
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await transport.send(OutgoingCall("GET", url)).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 50))
            #expect(server.requests.count == 50 && server.connections <= 8)
        }
        try await server.stop()
    }

    @Test("A call that waits for others ends at its time, was not sent, and takes no connection")
    func busy() async throws {
        let server = try await RawServer.start(Self.group) { $0.hasPrefix("GET /slow") ? .silence : .close }
        try await withProviderClient { client in
            let transport = try client.transport()
            let url = "http://127.0.0.1:\(server.port)/"
            let slow = (0..<8).map { _ in
                Task { await transport.failure(of: OutgoingCall("GET", url + "slow", timeLimit: .seconds(60))) }
            }
            try await waitUntil("eight requests") { server.requests.count == 8 }
            let error = await transport.failure(of: OutgoingCall("GET", url, timeLimit: .milliseconds(50)))
            #expect(error?.isUnsent == true && error?.cause == .time && error?.detail.contains("busy") == true)
            for task in slow { task.cancel() }
            for task in slow { #expect(await task.value?.isUnsent == false) }
            #expect(server.requests.count == 8)
        }
        try await server.stop()
    }

    @Test("A call that has its time for the answer does not lose the time in which it waits for a connection")
    func timeForAnswer() async throws {
        let server = try await RawServer.start(Self.group) { _ in .silence }
        try await withProviderClient { client in
            let transport = try client.transport()
            let url = "http://127.0.0.1:\(server.port)/"
            let slow = (0..<8).map { _ in
                Task { await transport.failure(of: OutgoingCall("GET", url + "slow", timeLimit: .seconds(60))) }
            }
            try await waitUntil("eight requests") { server.requests.count == 8 }
            let answered = Task {
                var call = OutgoingCall("POST", url + "answered", timeLimit: .seconds(4))
                call.hasTimeForAnswer = true
                return try await transport.send(call)
            }
            let late = Task { await transport.failure(of: OutgoingCall("POST", url + "late", timeLimit: .seconds(4))) }
            // Half of the time is over when this call fails.
            let unsent = await transport.failure(of: OutgoingCall("GET", url, timeLimit: .seconds(2)))
            #expect(unsent?.isUnsent == true)
            for task in slow { task.cancel() }
            for task in slow { #expect(await task.value?.isUnsent == false) }
            try await waitUntil("both requests") { server.requests.count == 10 }
            #expect(await late.value?.isUnsent == false)
            server.answer("POST /answered", with: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            #expect(try await answered.value.status == 200)
        }
        try await server.stop()
    }

    @Test("A connection that the server has closed after its answer is not used again")
    func closedByServer() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answerAndClose("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        try await withProviderClient { client in
            for _ in 0..<5 {
                _ = try await client.transport().send(OutgoingCall("GET", "http://127.0.0.1:\(server.port)/"))
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(server.connections == 5)
        }
        try await server.stop()
    }

    @Test("An answer without a length ends with its connection, and one may come without a body")
    func ends() async throws {
        let server = try await RawServer.start(Self.group) { request in
            request.hasPrefix("HEAD") || request.contains(" /empty")
                ? .answer("HTTP/1.1 204 No Content\r\n\r\n") : .answerAndClose("HTTP/1.1 200 OK\r\n\r\nhello")
        }
        try await withProviderClient { client in
            let transport = try client.transport()
            let url = "http://127.0.0.1:\(server.port)/"
            #expect(try await transport.send(OutgoingCall("GET", url)).body == Array("hello".utf8))
            #expect(try await transport.send(OutgoingCall("GET", url + "empty")).status == 204)
            #expect(try await transport.send(OutgoingCall("POST", url + "empty?")).body.isEmpty)
            #expect(server.requests.last?.contains("Content-Length: 0\r\n") == true)
            #expect(server.requests.last?.hasPrefix("POST /empty? HTTP/1.1\r\n") == true)
        }
        try await server.stop()
    }

    @Test("A handshake that does not end in time is an error that says so, and the call was not sent")
    func handshakes() async throws {
        let silent = try await RawServer.start(Self.group) { _ in .silence }
        try await withProviderClient { client in
            let transport = try client.transport()
            let url = "https://127.0.0.1:\(silent.port)/"
            let late = await transport.failure(of: OutgoingCall("POST", url, timeLimit: .milliseconds(200)))
            #expect(late?.isUnsent == true && late?.cause == .time && late?.detail.contains("handshake") == true)
        }
        try await silent.stop()
    }

    @Test("The host and the target are sent as the URL has them")
    func targets() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        try await withProviderClient { client in
            for (path, target) in [("", "/"), ("?a=b", "/?a=b"), ("/a%2Fb;c?d=%20", "/a%2Fb;c?d=%20")] {
                let url = "http://LOCALHOST:\(server.port)\(path)"
                _ = try await client.transport().send(OutgoingCall("GET", url))
                let request = try #require(server.requests.last)
                #expect(request.hasPrefix("GET \(target) HTTP/1.1\r\n"))
                #expect(request.contains("\r\nHost: localhost:\(server.port)\r\n"))
            }
        }
        try await server.stop()
    }

    /// gzip of `{}`.
    private static let zipped: [UInt8] = [
        0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xAB, 0xAE, 0x05, 0x00, 0x43, 0xBF, 0xA6, 0xA3,
        0x02, 0x00, 0x00, 0x00,
    ]

    private static func answer(_ body: [UInt8], _ coding: String, status: String = "200 OK") -> [UInt8] {
        Array("HTTP/1.1 \(status)\r\n\(coding)Content-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    @Test(
        "A compressed answer is an error that says so, whatever the coding is called",
        arguments: ["gzip", "GZIP", "br", "identity, gzip", "x;\"y\" z"]
    )
    func compressed(_ coding: String) async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .bytes(Self.answer(Self.zipped, "Content-Encoding: \(coding)\r\n"))
        }
        try await withProviderClient { client in
            for method in ["GET", "POST"] {
                let call = OutgoingCall(method, "http://127.0.0.1:\(server.port)/")
                let error = try #require(try await client.transport().failure(of: call))
                #expect(!error.isUnsent && error.detail.contains("127.0.0.1 is compressed"), "\(error)")
                #expect(error.status == 200)
                #expect(error.detail.contains("Content-Encoding: \(coding)"), "\(error)")
            }
        }
        try await server.stop()
    }

    @Test(
        "An answer that is readable, or whose status says enough, is taken whatever coding it names",
        arguments: [
            (Array("{}".utf8), "", "200 OK"), (Array("{}".utf8), "Content-Encoding: identity\r\n", "200 OK"),
            (Array("{}".utf8), "Content-Encoding: UTF-8\r\n", "200 OK"), ([], "Content-Encoding: gzip\r\n", "200 OK"),
            (Array("{}".utf8), "Content-Encoding: gzip\r\n", "200 OK"), (Self.zipped, "", "200 OK"),
            (Self.zipped, "Content-Encoding: gzip\r\n", "503 Service Unavailable"),
            (Self.zipped, "Content-Encoding: gzip\r\n", "401 Unauthorized"),
        ]
    )
    func readable(_ body: [UInt8], _ coding: String, _ status: String) async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .bytes(Self.answer(body, coding, status: status))
        }
        try await withProviderClient { client in
            let call = OutgoingCall("GET", "http://127.0.0.1:\(server.port)/")
            let answer = try await client.transport().send(call)
            #expect(answer.body == body && "\(answer.status)" == status.prefix(3))
        }
        try await server.stop()
    }

    @Test("A byte order mark before a document is left out, and nothing else is")
    func byteOrderMark() async throws {
        let bodies = [
            "\u{FEFF}{}": "{}", "\u{FEFF}\u{FEFF}{}": "\u{FEFF}{}", "{}\u{FEFF}": "{}\u{FEFF}", "\u{FEFF}": "",
        ]
        for (body, expected) in bodies {
            for chunks in [false, true] {
                let server = try await RawServer.start(Self.group) { _ in
                    guard chunks else { return .bytes(Self.answer(Array(body.utf8), "")) }
                    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    return .bytes(
                        Array(head.utf8) + body.utf8.flatMap { Array("1\r\n".utf8) + [$0, 13, 10] }
                            + Array("0\r\n\r\n".utf8)
                    )
                }
                try await withProviderClient { client in
                    let call = OutgoingCall("GET", "http://127.0.0.1:\(server.port)/")
                    let answer = try await client.transport().send(call)
                    #expect(answer.body == Array(expected.utf8))
                }
                try await server.stop()
            }
        }
    }

    @Test("Bytes that nobody asked for are in no answer: neither after one nor before the next call")
    func unasked() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb")
        }
        try await withProviderClient { client in
            let transport = try client.transport()
            let url = "http://127.0.0.1:\(server.port)/"
            await withTaskGroup(of: Void.self) { group in
                // More than there are connections, so that one is used at once by the next call.
                for _ in 0..<40 {
                    group.addTask {
                        let body = try? await transport.send(OutgoingCall("GET", url)).body
                        #expect(body == Array("a".utf8))
                    }
                }
            }
            #expect(server.requests.count == 40 && server.connections == 40)
        }
        try await server.stop()
    }

    @Test("A connection on which the protocol changes is not used again")
    func switching() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
        }
        try await withProviderClient { client in
            for _ in 0..<2 {
                let call = OutgoingCall("GET", "http://127.0.0.1:\(server.port)/")
                let answer = try await client.transport().send(call)
                #expect(answer.status == 101)
            }
            #expect(server.connections == 2)
        }
        try await server.stop()
    }
}
