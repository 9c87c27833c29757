import GatewayBench
import OpenIDBench
import Testing
import Vocabulary

/// Apps that call the provider themselves receive its tokens in fields, through the built binary.
@Suite("The provider's tokens in fields for the app", .blocking) struct ProviderTokenFieldTests {
    private static let routes = """
        routes:
          - path: /**
          - path: /public/**
            auth: public
          - path: /optional/**
            auth: optional
        identity:
          headers:
            X-User: subject
            X-Access: provider.access_token
            X-Id: provider.id_token
        """

    /// The values of a field in the last request that the app received.
    private func last(_ name: String, _ bench: OpenIDSignInBench) -> [String] {
        bench.app.requests.last?.values(name) ?? []
    }

    @Test("They are there for a session, on every route that has its identity, and a client's own are never")
    func fields() throws {
        var script = OpenIDScript()
        script.accessTokenForm = .jwt
        let forged = ["X-Access: forged", "x-id: forged", "X_Access: forged", "X-User: forged"]
        try OpenIDSignInBench.with(script, "audiences: [api]", routes: Self.routes) { (bench) throws in
            var browser = OpenIDBrowser(bench)
            #expect(try browser.open("/x").status == 200)
            let tokens = [self.last("x-access", bench), self.last("x-id", bench)]
            #expect(
                tokens.allSatisfy { $0.count == 1 && $0[0].split(separator: ".").count == 3 } && tokens[0] != tokens[1]
            )
            for target in ["/x", "/optional/x"] {
                #expect(try browser.load(target, OpenIDBrowser.navigation + forged).status == 200)
                #expect([self.last("x-access", bench), self.last("x-id", bench)] == tokens, "\(target)")
            }
            // Without a user there is none.
            var anonymous = OpenIDBrowser(bench)
            for target in ["/public/x", "/optional/x"] {
                #expect(try anonymous.load(target, forged).status == 200)
                let lines = bench.app.requests.last?.lines ?? []
                #expect(!lines.contains { $0.contains("forged") || $0.lowercased().hasPrefix("x-access") }, "\(lines)")
            }
            // A program's token is the provider's too, and there is no id_token.
            let token = bench.provider.accessToken()
            #expect(try bench.gateway.get("/x", forged + ["Authorization: Bearer \(token)"]).status == 200)
            #expect(self.last("x-access", bench) == [token] && self.last("x-id", bench) == [])
            #expect(self.last("x-user", bench) == ["user-1"] && self.last("authorization", bench) == [])
            // The gateway's own answers show none of them.
            for target in ["/.sallyport/session", "/.sallyport/logout"] {
                let answer = try browser.load(target)
                #expect(answer.status == 200)
                for token in tokens.joined() { #expect(!answer.text.contains(token)) }
            }
        }
    }

    @Test("Two browsers of one user have tokens of their own; after a new sign-in the app sees the new ones")
    func perSession() throws {
        try OpenIDSignInBench.with(OpenIDScript(), "", routes: Self.routes) { (bench) throws in
            var (first, second) = (OpenIDBrowser(bench), OpenIDBrowser(bench))
            var seen: [[String]] = []
            for round in 0..<2 {
                #expect(try first.open("/\(round)").status == 200)
                seen.append(self.last("x-access", bench))
                #expect(try second.open("/\(round)").status == 200)
                seen.append(self.last("x-access", bench))
            }
            #expect(seen[0] == seen[2] && seen[1] == seen[3] && seen[0] != seen[1] && seen[0].count == 1)
            #expect(try first.open("/.sallyport/login?return_to=/again&prompt=login").status == 200)
            #expect(self.last("x-access", bench).count == 1 && !seen.contains(self.last("x-access", bench)))
        }
    }
}
