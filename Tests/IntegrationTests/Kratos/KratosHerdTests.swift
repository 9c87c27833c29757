import GatewayBench
import KratosBench
import Testing

@Suite("A herd at Kratos", .blocking)
struct KratosHerdTests {
    @Test("Two thousand requests at once for one uncached token are one question, and all get its answer")
    func herd() throws {
        DescriptorLimit.raise()
        try KratosGatewayBench.with(loops: 4) { bench throws in
            let fields = ["X-Session-Token: \(bench.kratos.newSession().token)"]
            let wires = try (0..<2000).map { _ in try Wire(to: bench.gateway.port) }
            bench.kratos.fail("/sessions/whoami", with: .slow(0.5))
            // Nobody of Kratos is staff, so the app need not hold as many connections.
            for wire in wires { wire.send(Request.get("/staff/x", fields)) }
            let answers = try wires.map { try $0.answer(seconds: 60) }
            #expect(answers.allSatisfy { $0.status == 403 && $0.reason == "require.groups" })
            #expect(try bench.get("/x", fields).status == 200)
            #expect(bench.questions == 1)
            for wire in wires { wire.close() }
        }
    }
}
