import Foundation
import GatewayBench
import KratosBench
import Testing

/// One client against a Kratos that is slow.
@Suite("A client's share of Kratos", .blocking)
struct KratosShareTests {
    /// A token that Kratos does not know, in the form of one.
    private static func unknownToken(_ number: Int) -> String {
        "ory_st_" + String(String(number).reversed()).padding(toLength: 32, withPad: "x", startingAt: 0)
    }

    @Test("Unknown tokens of one address leave all others their sign-ins, however many they are")
    func tokens() throws {
        DescriptorLimit.raise()
        try KratosGatewayBench.with(loops: 1) { bench throws in
            let sessions = (0..<6).map { _ in bench.kratos.newSession().token }
            bench.kratos.fail("/sessions/whoami", with: .slow(1))
            let flood = try (0..<1200).map { number in
                let wire = try Wire(to: bench.gateway.port, from: "127.0.0.1")
                wire.send(Request.get("/x", ["X-Session-Token: \(Self.unknownToken(number))"]))
                return wire
            }
            // Questions are under way, and the rest are refused or wait.
            #expect(eventually { bench.questions >= 4 })
            for token in sessions {
                let wire = try Wire(to: bench.gateway.port, from: "127.0.0.2")
                wire.send(Request.get("/x", ["X-Session-Token: \(token)"]))
                let answer = try wire.answer(seconds: 30)
                #expect(answer.status == 200, "\(answer.lines)")
            }
            #expect(flood.count == 1200)
            #expect(bench.gateway.output.contains("one of 127.0.0.1 was not sent"))
        }
    }

    @Test("POSTs without a body to Kratos's sign-in leave others theirs")
    func posts() throws {
        DescriptorLimit.raise()
        try KratosGatewayBench.with(loops: 1) { bench throws in
            bench.kratos.fail("/self-service/login", with: .slow(15))
            let flood = try (0..<600).map { _ in
                let wire = try Wire(to: bench.gateway.port, from: "127.0.0.1")
                wire.send(Request.get("/self-service/login?flow=x", ["Content-Length: 0"], method: "POST"))
                return wire
            }
            let waiting = #"sallyport_upstream_requests_waiting{upstream="provider.kratos"}"#
            #expect(eventually { ((try? bench.gateway.metric(waiting)) ?? 0) > 0 })
            bench.kratos.heal()
            for _ in 0..<18 {
                let wire = try Wire(to: bench.gateway.port, from: "127.0.0.2")
                wire.send(Request.get("/self-service/login?flow=x", ["Content-Length: 0"], method: "POST"))
                #expect(try wire.answer(seconds: 10).status < 500)
            }
            #expect(flood.count == 600)
        }
    }
}
