import AddressIntelligence
import Calls
import NIOPosix
import Providers
import Sessions
import Settings
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// What one client may use of a provider.
@Suite("Shares of a provider's connections")
struct ProviderSharesTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    private static func address(_ number: Int) throws -> AddressKey {
        AddressKey(of: try #require(IPAddress("192.0.2.\(number)")))
    }

    /// A provider that does not answer questions whose path begins with `/hang`.
    private static func with(_ body: (HTTPCallTransport, RawServer, String) async throws -> Void) async throws {
        let server = try await RawServer.start(MultiThreadedEventLoopGroup.singleton) { request in
            request.contains(" /hang") ? .silence : .answer(Self.ok)
        }
        try await withProviderClient { client in
            try await body(try client.transport(), server, "http://127.0.0.1:\(server.port)")
        }
        try await server.stop()
    }

    private static func question(_ url: String, of client: AddressKey?) -> OutgoingCall {
        var call = OutgoingCall("GET", url, for: .session, timeLimit: .seconds(600))
        call.caller = .request(client)
        return call
    }

    @Test("One client's questions leave connections to another client's, and to sign-ins")
    func one() async throws {
        try await Self.with { transport, server, url in
            let (flood, other) = (try Self.address(1), try Self.address(2))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask {
                        _ = try? await transport.send(Self.question("\(url)/hang\(number)", of: flood))
                    }
                }
                try await waitUntil("four questions") { server.requests.count >= 4 }
                for _ in 0..<6 {
                    let known = try await transport.send(Self.question("\(url)/other", of: other))
                    let signIn = try await transport.send(OutgoingCall("POST", "\(url)/token"))
                    #expect(known.status == 200 && signIn.status == 200)
                }
                #expect(server.requests.count { $0.contains(" /hang") } == 4)
                group.cancelAll()
            }
        }
    }

    @Test("One client's sign-ins leave connections to another's, and its questions leave some to its own sign-ins")
    func signIns() async throws {
        try await Self.with { transport, server, url in
            let (flood, other) = (try Self.address(1), try Self.address(2))
            func signIn(_ path: String, of client: AddressKey) -> OutgoingCall {
                var call = OutgoingCall("POST", url + path, timeLimit: .seconds(600))
                call.caller = .endpoint(client)
                return call
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    group.addTask { _ = try? await transport.send(Self.question("\(url)/hang\(number)", of: other)) }
                }
                try await waitUntil("four questions") { server.requests.count >= 4 }
                let own = try await transport.send(signIn("/token", of: other))
                #expect(own.status == 200)
                let calls = (0..<50).map { signIn("/hang\($0)", of: flood) }
                for call in calls { group.addTask { _ = try? await transport.send(call) } }
                try await waitUntil("two sign-ins") { server.requests.count { $0.contains("POST /hang") } >= 2 }
                for _ in 0..<6 {
                    let signIn = try await transport.send(signIn("/token", of: other))
                    #expect(signIn.status == 200)
                }
                group.cancelAll()
            }
        }
    }

    @Test("Questions of many clients leave connections to sign-ins")
    func many() async throws {
        try await Self.with { transport, server, url in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 {
                    let client = try Self.address(number)
                    group.addTask { _ = try? await transport.send(Self.question("\(url)/hang\(number)", of: client)) }
                }
                try await waitUntil("six questions") { server.requests.count >= 6 }
                for _ in 0..<6 {
                    let signIn = try await transport.send(OutgoingCall("POST", "\(url)/token"))
                    #expect(signIn.status == 200)
                }
                #expect(server.requests.count { $0.contains(" /hang") } == 6)
                group.cancelAll()
            }
        }
    }

    @Test("Clients take turns, and all are answered")
    func turns() async throws {
        try await Self.with { transport, server, url in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<200 {
                    let client = try Self.address(number < 190 ? 1 : number)
                    group.addTask { try await transport.send(Self.question("\(url)/q\(number)", of: client)).status }
                }
                for try await status in group { #expect(status == 200) }
            }
            #expect(server.requests.count == 200 && server.connections <= 8)
        }
    }
}
