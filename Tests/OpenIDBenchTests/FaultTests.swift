import Foundation
import GatewayBench
import OpenIDBench
import Testing

/// The provider on its port.
@Suite(.blocking) struct FaultTests {
    private static func get(_ provider: OpenIDProvider, _ path: String = "/jwks.json") throws -> Answer {
        try Wire(to: provider.port).request("GET \(path) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    }

    @Test func servesOnItsPortAndComesBackAfterAnOutage() throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        let answer = try Self.get(provider, "/.well-known/openid-configuration")
        #expect(answer.status == 200 && answer.text.contains("\"issuer\":\"\(provider.issuer)\""))
        #expect(try Self.get(provider, "/other").status == 404)
        provider.stop()
        #expect(throws: BenchFailure.self) { try Wire(to: provider.port) }
        try provider.start()
        #expect(try Self.get(provider).status == 200)
        #expect(provider.count(.keys) == 1 && provider.count(.discovery) == 1)
    }

    /// Another server may have the first one's descriptor by then.
    @Test func aSecondStopLeavesOtherServersAlone() throws {
        for _ in 0..<20 {
            let first = try FakeUpstream()
            first.stop()
            let second = try FakeUpstream()
            defer { second.stop() }
            first.stop()
            let answer = try Wire(to: second.port).request("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(answer.status == 200)
        }
    }

    @Test func failsAsItIsTold() throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        provider.fail(
            .keys,
            with: .answer(status: 503, body: "busy", fields: [(name: "retry-after", value: "7")]),
            .closes,
            .delays(.milliseconds(1))
        )
        let busy = try Self.get(provider)
        #expect(busy.status == 503 && busy.text.hasSuffix("busy") && busy.values("retry-after") == ["7"])
        #expect(throws: (any Error).self) { try Self.get(provider) }
        #expect(try Self.get(provider).status == 200)
        provider.breakDown(.keys, with: .answer(status: 500))
        for _ in 0..<3 { #expect(try Self.get(provider).status == 500) }
        provider.heal(.keys)
        #expect(try Self.get(provider).status == 200)
        #expect(provider.count(.keys) == 7)
    }

    @Test func losesAnAnswerWhoseEffectStays() throws {
        let provider = try OpenIDProvider(isUp: false)
        let flow = CodeFlow(provider: provider)
        let token = flow.signIn()?["refresh_token"]
        provider.fail(.token, with: .closesAfterwards)
        #expect(flow.refresh(token) == nil)
        #expect(flow.refresh(token)?["error"] == "invalid_grant" && provider.reuses == 1)
    }

    @Test func holdsCallsUntilTheyMayGoOn() throws {
        let provider = try OpenIDProvider()
        defer { provider.stop() }
        provider.hold(.keys)
        let done = Flag()
        for _ in 0..<3 {
            Thread.detachNewThread {
                if (try? Self.get(provider).status) == 200 { done.raise() }
            }
        }
        #expect(eventually { provider.waiting(at: .keys) == 3 })
        #expect(done.count == 0)
        provider.heal(.keys)
        #expect(eventually { done.count == 3 })
        #expect(provider.waiting(at: .keys) == 0)
    }
}
