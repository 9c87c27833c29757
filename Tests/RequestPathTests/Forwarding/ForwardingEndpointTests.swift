import Endpoints
import RequestPath
import Settings
import Testing

@Suite("Endpoints of the provider")
struct ForwardingEndpointTests {
    private static let host = HostSettings(
        publicURL: PublicURL(isHTTPS: true, host: "auth.example.com", port: nil),
        endpoints: true,
        routes: [route("/**", .required)]
    )

    private func gateway() async throws -> InProcessGateway {
        try await InProcessGateway(
            host: Self.host,
            endpoints: [
                Endpoint(path: "/sessions/whoami", methods: ["GET"]) { _ in
                    EndpointResponse(status: 200, body: Array("whoami of the gateway\n".utf8))
                },
                Endpoint(path: "/echo/{name}", methods: ["POST"]) { request in
                    let name = request.pathParameter("name") ?? ""
                    return EndpointResponse(status: 200, body: Array("\(name): ".utf8) + request.body)
                },
            ],
            forwarding: [
                ForwardingEndpoint(path: "/sessions/{id}", methods: ["GET", "DELETE"], upstream: "provider"),
                ForwardingEndpoint(path: "/self-service/login", methods: ["POST"], upstream: "provider"),
            ]
        )
    }

    @Test("No session is needed, no identity is sent, and identity fields of the client are removed")
    func identity() async throws {
        let gateway = try await self.gateway()
        let answer = try await gateway.send([
            "GET /sessions/a1?x=%20y&session_transfer_token=spt_x HTTP/1.1", "Host: auth.example.com",
            "X-Auth-Subject: mallory", "X-Forwarded-For: 192.0.2.7", "Cookie: provider=old; __Host-sallyport=ours; a=b",
            "X-Session-Token: provider-token", "Authorization: Bearer provider-bearer", "X-Custom: kept",
        ])
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        // The provider's own fields pass in both directions.
        #expect(answer.contains("\r\nGET /sessions/a1?x=%20y HTTP/1.1\r\n"))
        #expect(answer.contains("\r\nHost: auth.example.com\r\n"))
        #expect(answer.contains("\r\nCookie: provider=old; a=b\r\n"))
        #expect(answer.contains("\r\nX-Session-Token: provider-token\r\n"))
        #expect(answer.contains("\r\nAuthorization: Bearer provider-bearer\r\n"))
        #expect(answer.contains("\r\nX-Custom: kept\r\n"))
        #expect(answer.contains("\r\nSet-Cookie: provider=new; Path=/\r\n"))
        // The gateway's fields are removed or replaced.
        #expect(!answer.contains("mallory") && !answer.contains("ours") && !answer.contains("spt_x"))
        #expect(!answer.lowercased().contains("x-auth-"))
        #expect(answer.contains("\r\nX-Forwarded-For: 127.0.0.1\r\n"))
        try await gateway.stop()
    }

    @Test("Bodies are forwarded to the provider")
    func bodies() async throws {
        let gateway = try await self.gateway()
        let answer = try await gateway.send(
            ["POST /self-service/login HTTP/1.1", "Host: auth.example.com", "Content-Type: application/json"],
            body: #"{"method":"password"}"#
        )
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("\r\nPOST /self-service/login HTTP/1.1\r\n"))
        #expect(answer.hasSuffix(#"{"method":"password"}"#))
        try await gateway.stop()
    }

    @Test("Literal paths, other methods, other spellings and all other paths do not reach the provider")
    func others() async throws {
        let gateway = try await self.gateway()
        for (line, expected) in [
            ("GET /sessions/whoami", "HTTP/1.1 200 OK\r\n"), ("POST /sessions/a1", "HTTP/1.1 405 "),
            ("GET /sessions/%61", "HTTP/1.1 400 "), ("GET /sessions/a%2Fb", "HTTP/1.1 400 "),
            ("GET /sessions//a", "HTTP/1.1 400 "), ("GET /sessions/", "HTTP/1.1 401 "),
            ("GET /sessions/a/b", "HTTP/1.1 401 "), ("GET /app", "HTTP/1.1 401 "),
        ] {
            let answer = try await gateway.send(["\(line) HTTP/1.1", "Host: auth.example.com"])
            #expect(answer.hasPrefix(expected), "\(line): \(answer)")
            #expect(!answer.contains("provider=new"))
            if expected.contains("405") { #expect(answer.contains("\r\nAllow: GET, DELETE\r\n")) }
            if line.hasSuffix("whoami") { #expect(answer.hasSuffix("whoami of the gateway\n")) }
        }
        try await gateway.stop()
    }

    @Test("An endpoint gets the value of its path's parameter")
    func parameter() async throws {
        let gateway = try await self.gateway()
        let answer = try await gateway.send(["POST /echo/a-1 HTTP/1.1", "Host: auth.example.com"], body: "hello")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("a-1: hello"))
        try await gateway.stop()
    }
}
