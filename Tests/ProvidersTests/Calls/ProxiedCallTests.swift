import Calls
import NIOCore
import NIOPosix
import NIOSSL
import Providers
import RedisServers
import Settings
import Testing
import Transport
import Vocabulary

@Suite("Calls to providers through a proxy")
struct ProxiedCallTests {
    private static let group = MultiThreadedEventLoopGroup.singleton
    /// A name that has no address: only the proxy can find it.
    private static let host = "idp.proxied.invalid"

    /// What the settings make of these variables.
    static func proxies(_ variables: [String: String]) throws -> OutgoingProxies {
        let start = [
            "SALLYPORT_UPSTREAM": "http://127.0.0.1:3000", "SALLYPORT_PUBLIC_URL": "https://app.example.com",
            "SALLYPORT_OIDC_URL": "https://\(Self.host)", "SALLYPORT_OIDC_CLIENT_ID": "sallyport",
        ]
        let loaded = try SettingsLoader.load(
            file: nil,
            environment: start.merging(variables) { $1 },
            flags: InsecureFlags()
        )
        return try #require(loaded.settings.providers.first).proxies
    }

    private func server(_ certificates: Certificates) async throws -> RawServer {
        let (certificate, key) = try certificates.issue("idp", to: Self.host)
        let context = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
            )
        )
        return try await RawServer.start(Self.group, tls: context) { _ in
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
    }

    @Test("An https call goes by CONNECT, with the proxy's password, and TLS is verified with the provider")
    func tunnel() async throws {
        let certificates = try Certificates()
        let server = try await self.server(certificates)
        let proxy = try await TestProxy.start(Self.group) { [port = server.port] _ in .tunnel(port) }
        try await withProviderClient { client in
            let proxies = try Self.proxies(["HTTPS_PROXY": "http://user:p%40ss@127.0.0.1:\(proxy.port)"])
            let transport = try client.transport(caFile: certificates.authority, proxies: proxies)
            let call = OutgoingCall("POST", "https://\(Self.host)/token", body: Array("a=b".utf8))
            for _ in 0..<2 { #expect(try await transport.send(call).body == Array("ok".utf8)) }
            let question =
                "CONNECT \(Self.host):443 HTTP/1.1\r\nHost: \(Self.host):443\r\nUser-Agent: sallyport\r\n"
                + "Proxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n"
            // Each of the two takes a way of its own.
            #expect(proxy.requests.count == server.connections)
            #expect(proxy.requests.allSatisfy { $0 == question }, "\(proxy.requests)")
            #expect(server.requests.count == 2)
            #expect(
                server.requests.allSatisfy {
                    $0.hasPrefix("POST /token HTTP/1.1\r\n") && !$0.lowercased().contains("proxy")
                }
            )

            let stranger = try #require(try await client.transport(proxies: proxies).failure(of: call))
            #expect(stranger.cause == .certificate && stranger.isUnsent && stranger.detail.contains(Self.host))
            let other = OutgoingCall("GET", "https://other.proxied.invalid/")
            let misnamed = try #require(await transport.failure(of: other))
            #expect(misnamed.cause == .certificateName && misnamed.isUnsent)

            let direct = try client.transport(caFile: certificates.authority)
            #expect(await direct.failure(of: call)?.cause == .name)
            let excepted = try Self.proxies([
                "HTTPS_PROXY": "http://127.0.0.1:\(proxy.port)", "NO_PROXY": ".proxied.invalid",
            ])
            #expect(try await client.transport(proxies: excepted).failure(of: call)?.cause == .name)
        }
        try await proxy.stop()
        try await server.stop()
    }

    @Test(
        "Interim answers of a proxy are passed over",
        arguments: [
            "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
            "HTTP/1.0 102 Processing\r\n\r\nHTTP/1.1 199\r\n\r\n",
            String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 16),
        ]
    )
    func interims(_ text: String) async throws {
        let certificates = try Certificates()
        let server = try await self.server(certificates)
        let proxy = try await TestProxy.start(Self.group) { [port = server.port] _ in .tunnel(port, after: text) }
        try await withProviderClient { client in
            let proxies = try Self.proxies(["HTTPS_PROXY": "http://127.0.0.1:\(proxy.port)"])
            let transport = try client.transport(caFile: certificates.authority, proxies: proxies)
            let call = OutgoingCall("POST", "https://\(Self.host)/token", body: Array("a=b".utf8))
            #expect(try await transport.send(call).body == Array("ok".utf8))
        }
        try await proxy.stop()
        try await server.stop()
    }

    @Test(
        "A proxy that refuses, or does not speak HTTP, is named with its status, and no password is",
        arguments: [
            (
                TestProxy.Reaction.answer("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\nno"),
                "407"
            ),
            (.answer("HTTP/1.0 403 Forbidden\r\n\r\n"), "403"), (.answer("HTTP/1.1 502 Bad Gateway\r\n\r\n"), "502"),
            (.answer("HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\n\r\n"), "302"),
            (.answer("220 smtp.example ESMTP\r\n\r\n"), "as an HTTP proxy does"), (.close, "as an HTTP proxy does"),
            (.answer("HTTP/1.1 200 OK\r\n\r\nmore"), "as an HTTP proxy does"),
            (.answer("HTTP/1.1 20 OK\r\n\r\n"), "as an HTTP proxy does"), (.silence, "did not answer in time"),
            (.answer(String(repeating: "a", count: 20_000)), "as an HTTP proxy does"),
            (.answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 407 No\r\n\r\n"), "407"),
            (.answer("HTTP/1.1 103 Early Hints\r\n\r\nwhat?\r\n\r\n"), "as an HTTP proxy does"),
            (.answer("HTTP/1.1 103 Early Hints\r\n\r\n"), "did not answer in time"),
            (.answer("HTTP/1.1 101 Switching Protocols\r\n\r\n"), "101"),
            (.answer(String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 17)), "100"),
            (
                .answer("HTTP/1.1 100 Continue\r\n\r\n" + String(repeating: "a", count: 20_000)),
                "as an HTTP proxy does"
            ),
        ]
    )
    func refusals(reaction: TestProxy.Reaction, words: String) async throws {
        let proxy = try await TestProxy.start(Self.group) { _ in reaction }
        try await withProviderClient { client in
            let proxies = try Self.proxies(["HTTPS_PROXY": "http://user:secret-1@127.0.0.1:\(proxy.port)"])
            let call = OutgoingCall(
                "POST",
                "https://\(Self.host)/",
                body: Array("code=secret-2".utf8),
                timeLimit: .milliseconds(500)
            )
            for _ in 0..<2 {
                let error = try #require(try await client.transport(proxies: proxies).failure(of: call))
                #expect(error.isUnsent && error.detail.contains(words), "\(error)")
                #expect(error.detail.contains("the proxy 127.0.0.1:\(proxy.port)") && error.detail.contains(Self.host))
                #expect(!error.detail.contains("secret"))
            }
        }
        try await proxy.stop()
    }

    @Test("A proxy that is not there is named, and nothing was sent")
    func absent() async throws {
        let proxy = try await TestProxy.start(Self.group) { _ in .close }
        let port = proxy.port
        try await proxy.stop()
        try await withProviderClient { client in
            let proxies = try Self.proxies(["https_proxy": "127.0.0.1:\(port)"])
            let call = OutgoingCall("GET", "https://\(Self.host)/")
            let error = try #require(try await client.transport(proxies: proxies).failure(of: call))
            #expect(
                error.cause == .connection && error.isUnsent && error.detail.contains("the proxy 127.0.0.1:\(port)")
            )
            let unknown = try Self.proxies(["https_proxy": "http://no-such-proxy.invalid:1"])
            let nowhere = try #require(try await client.transport(proxies: unknown).failure(of: call))
            #expect(nowhere.cause == .name && nowhere.detail.contains("the proxy no-such-proxy.invalid:1"))
        }
    }

    @Test("An http call is sent to the proxy with the whole URL, and its 407 is no answer of the provider")
    func plain() async throws {
        let proxy = try await TestProxy.start(Self.group) { request in
            request.contains("/closed")
                ? .answer("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                : .answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        try await withProviderClient { client in
            let proxies = try Self.proxies(["http_proxy": "http://user:pass@127.0.0.1:\(proxy.port)"])
            let transport = try client.transport(allowsPlainHTTP: true, proxies: proxies)
            let url = "http://kratos.proxied.invalid:4433"
            #expect(try await transport.send(OutgoingCall("GET", "\(url)/sessions/whoami?a=b")).status == 200)
            let request = try #require(proxy.requests.first)
            #expect(request.hasPrefix("GET \(url)/sessions/whoami?a=b HTTP/1.1\r\n"))
            #expect(request.contains("\r\nHost: kratos.proxied.invalid:4433\r\n"))
            #expect(request.contains("\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n"))
            let error = try #require(await transport.failure(of: OutgoingCall("GET", "\(url)/closed")))
            #expect(error.cause == .proxy && error.detail.contains("407"))
        }
        try await proxy.stop()
    }

    @Test("This machine is called directly, unless the settings name the proxy")
    func loopback() async throws {
        let server = try await RawServer.start(Self.group) { _ in
            .answer("HTTP/1.1 204 No Content\r\n\r\n")
        }
        let proxy = try await TestProxy.start(Self.group) { _ in .answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        try await withProviderClient { client in
            let call = OutgoingCall("GET", "http://127.0.0.1:\(server.port)/")
            let name = "http://127.0.0.1:\(proxy.port)"
            let environment = try Self.proxies(["http_proxy": name, "ALL_PROXY": name])
            #expect(try await client.transport(proxies: environment).send(call).status == 204)
            #expect(proxy.requests.isEmpty)
            let asked = try Self.proxies(["SALLYPORT_PROVIDER_HTTP_PROXY": name])
            #expect(try await client.transport(proxies: asked).send(call).status == 200)
            #expect(proxy.requests.count == 1)
        }
        try await proxy.stop()
        try await server.stop()
    }
}
