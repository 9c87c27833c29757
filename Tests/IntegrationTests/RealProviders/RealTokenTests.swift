import Foundation
import GatewayBench
import Synchronization
import Testing

/// Tokens of OpenID providers that others have made, through the built binary.
@Suite("Tokens of others' providers", .blocking) struct RealTokenTests {
    private static let headers = """
        identity:
          headers:
            X-User: subject
            X-Access: provider.access_token
        """

    @Test(
        "F16: While the provider's keys rotate, no request with an access token fails",
        arguments: RealProviderKind.allCases
    )
    func rotation(_ kind: RealProviderKind) throws {
        let settings = kind.tokenSettings + "\naudiences: \(RealProviderKind.audiences)"
        try RealProviderBench.with(kind, settings, rest: Self.headers) { (bench) throws in
            var user = WebUser(bench.gateway)
            let tokens = Mutex<[String]>([])
            let failures = Mutex<[String]>([])
            let sent = Mutex(0)
            let isDone = Mutex(false)

            // A sign-in for each set of keys; the provider knows the user after the first.
            func signIn() throws {
                user.jars[String(bench.first.dropFirst(7))] = nil
                #expect(try bench.open("\(bench.first)/", &user).answer.status == 200)
                let token = try #require(bench.app.requests.last { $0.target == "/" }?.values("X-Access").first)
                tokens.withLock { $0.append(token) }
            }
            try signIn()
            let workers = DispatchGroup()
            for number in 0..<4 {
                DispatchQueue.global().async(group: workers) {
                    var turn = number
                    while !isDone.withLock({ $0 }) {
                        turn += 1
                        // The newest most often.
                        let token = tokens.withLock {
                            number.isMultiple(of: 2) ? $0[$0.count - 1] : $0[turn % $0.count]
                        }
                        let fields = "Accept: */*\r\nAuthorization: Bearer \(token)"
                        let request = "GET /api HTTP/1.1\r\nHost: \(bench.first.dropFirst(7))\r\n\(fields)\r\n\r\n"
                        let answer = try? bench.gateway.request(request)
                        sent.withLock { $0 += 1 }
                        if answer?.status != 200 {
                            let reason = "\(answer?.status ?? 0) \(answer?.reason ?? "")"
                            failures.withLock { $0.append(reason) }
                        }
                    }
                }
            }
            defer {
                isDone.withLock { $0 = true }
                workers.wait()
            }
            for _ in 0..<3 {
                try bench.provider.rotateKeys()
                try signIn()
                let before = sent.withLock { $0 }
                #expect(eventually { sent.withLock { $0 } > before + 40 })
            }
            #expect(failures.withLock { $0 } == [])
            let heads = Set(tokens.withLock { $0 }.map { $0.prefix { $0 != "." } })
            #expect(heads.count == 4, "each token names another key")
        }
    }

    @Test(
        "Tokens are renewed before they expire, with refresh tokens that work once",
        arguments: RealProviderKind.allCases
    )
    func renewal(_ kind: RealProviderKind) throws {
        try RealProviderBench.with(kind, kind.tokenSettings, rest: Self.headers, life: 5) { (bench) throws in
            var user = WebUser(bench.gateway)
            #expect(try bench.open("\(bench.first)/", &user).answer.status == 200)
            var seen: Set<String> = []
            let renewed = #"sallyport_provider_renewals_total{result="renewed"}"#
            let isRenewed = eventually {
                guard let page = try? user.open("\(bench.first)/"), page.answer.status == 200,
                    page.url == "\(bench.first)/", let token = bench.field("X-Access")
                else { return false }
                seen.insert(token)
                return seen.count > 3
            }
            #expect(isRenewed, "\(seen.count) \(bench.gateway.output.suffix(2000))")
            #expect(try bench.gateway.metric(renewed) >= 3)
            for result in ["ended", "lost"] {
                #expect(try bench.gateway.metric("sallyport_provider_renewals_total{result=\"\(result)\"}") == 0)
            }
        }
    }
}
