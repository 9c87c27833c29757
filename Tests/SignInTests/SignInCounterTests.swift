import AddressIntelligence
import Observability
import Providers
import Sessions
import Settings
import SignOn
import StoreBench
import Testing
import Vocabulary

@Suite("The counter of sign-ins")
struct SignInCounterTests {
    @Test("Each sign-in is counted once, by kind and result")
    func counts() async throws {
        let bench = SignInBench()
        let metrics = MetricsRegistry()
        let sessions = SessionService(
            records: bench.records,
            settings: SessionSettings(),
            devices: DeviceObserver(directory: nil),
            journal: AuditJournal(audit: AuditStream(queue: nil), counters: .signIns(metrics))
        )
        let passwords = PasswordSignIn(
            sessions: sessions,
            provider: SwitchedProvider(),
            limiter: LocalRateLimiter(clock: bench.time.clock),
            familiar: FamiliarAddresses(),
            accounts: AccountNames(Secret("a secret of the tests"))
        )
        for (password, kind) in [
            (SignInBench.password, Session.Kind.web), ("wrong", .web), (SignInBench.password, .native),
        ] {
            _ = try? await passwords.signIn(
                identifier: "alice@example.com",
                password: Secret(password),
                kind: kind,
                for: try bench.requester()
            )
        }
        let text = String(decoding: try await metrics.render(), as: UTF8.self)
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("sallyport_sign_ins_total") }
        #expect(
            Set(lines) == [
                #"sallyport_sign_ins_total{kind="web",result="ok"} 1"#,
                #"sallyport_sign_ins_total{kind="web",result="signin.refused"} 1"#,
                #"sallyport_sign_ins_total{kind="native",result="ok"} 1"#,
            ]
        )
    }
}
