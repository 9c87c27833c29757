import GatewayBench
import Testing

/// Rules at sign-in, for native apps whose users sign in with the browser, by the built binary.
@Suite("Rules of the two-code exchange", .blocking) struct ExchangeRuleTests {
    private func with(dryRun: Bool, _ body: (Gateway) throws -> Void) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        let more = """
            exchange: {return_to: ["myapp://auth/callback"]}
            rules:
              - name: no-grace
                at: [sign_in]
                when: event.user.email == "grace@example.com"
                then: deny
                text: Not you.
                dry_run: \(dryRun)
            """
        try Gateway.with(Config.file(upstream: app.port, more: more), body)
    }

    private func series(_ result: String) -> String {
        #"sallyport_rule_results_total{rule="no-grace",result="\#(result)"}"#
    }

    @Test("A denied user's app gets the flow with the rule's text; another user signs in with the same code")
    func denies() throws {
        try self.with(dryRun: false) { gateway throws in
            let app = try gateway.beginAppSignIn()
            let refused = try gateway.exchange(app, AppSignIn.code(in: try gateway.signIn(for: app, as: .grace)))
            #expect(refused.status == 422 && refused.text.contains(#""text":"Not you.""#), "\(refused.text)")
            #expect(try gateway.metric(self.series("deny")) == 1)
            // The access log has the reason too, on a line of its own.
            #expect(
                gateway.output.split(separator: "\n").contains { line in
                    ["rule.denied", #""event":"sign_in.failed""#, "no-grace"].allSatisfy(line.contains)
                }
            )
            let passed = try gateway.exchange(app, AppSignIn.code(in: try gateway.signIn(for: app)))
            #expect(passed.status == 200 && passed.text.contains("session_token"))
            #expect(try gateway.metric(self.series("pass")) == 1)
        }
    }

    @Test("A dry run is counted and audited once, although the exchange follows later and is repeated")
    func dryRun() throws {
        try self.with(dryRun: true) { gateway throws in
            let app = try gateway.beginAppSignIn()
            let code = try AppSignIn.code(in: try gateway.signIn(for: app, as: .grace))
            for _ in 0..<2 { #expect(try gateway.exchange(app, code).status == 200) }
            #expect(try gateway.metric(self.series("would_deny")) == 1)
            let lines = gateway.output.split(separator: "\n").filter { $0.contains("rule.dry_run") }
            let line = try #require(lines.first)
            #expect(lines.count == 1)
            for part in [#""rule":"no-grace""#, #""reason":"rule.denied""#, "user-1906", #""dry_run":"true""#] {
                #expect(line.contains(part), "\(part): \(line)")
            }
        }
    }
}
