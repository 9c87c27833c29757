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
    private func last(_ name: String, _ world: OpenIDWorld) -> [String] {
        world.app.requests.last?.values(name) ?? []
    }

    @Test("They are there for a session, on every route that has its identity, and a client's own are never")
    func fields() throws {
        var script = OpenIDScript()
        script.accessTokenForm = .jwt
        let forged = ["X-Access: forged", "x-id: forged", "X_Access: forged", "X-User: forged"]
        try OpenIDWorld.with(script, "audiences: [api]", routes: Self.routes) { (world) throws in
            var browser = OpenIDBrowser(world)
            #expect(try browser.open("/x").status == 200)
            let tokens = [self.last("x-access", world), self.last("x-id", world)]
            #expect(
                tokens.allSatisfy { $0.count == 1 && $0[0].split(separator: ".").count == 3 } && tokens[0] != tokens[1]
            )
            for target in ["/x", "/optional/x"] {
                #expect(try browser.load(target, OpenIDBrowser.navigation + forged).status == 200)
                #expect([self.last("x-access", world), self.last("x-id", world)] == tokens, "\(target)")
            }
            // Without a user there is none.
            var anonymous = OpenIDBrowser(world)
            for target in ["/public/x", "/optional/x"] {
                #expect(try anonymous.load(target, forged).status == 200)
                let lines = world.app.requests.last?.lines ?? []
                #expect(!lines.contains { $0.contains("forged") || $0.lowercased().hasPrefix("x-access") }, "\(lines)")
            }
            // A program's token is the provider's too, and there is no id_token.
            let token = world.provider.accessToken()
            #expect(try world.gateway.get("/x", forged + ["Authorization: Bearer \(token)"]).status == 200)
            #expect(self.last("x-access", world) == [token] && self.last("x-id", world) == [])
            #expect(self.last("x-user", world) == ["user-1"] && self.last("authorization", world) == [])
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
        try OpenIDWorld.with(OpenIDScript(), "", routes: Self.routes) { (world) throws in
            var (first, second) = (OpenIDBrowser(world), OpenIDBrowser(world))
            var seen: [[String]] = []
            for round in 0..<2 {
                #expect(try first.open("/\(round)").status == 200)
                seen.append(self.last("x-access", world))
                #expect(try second.open("/\(round)").status == 200)
                seen.append(self.last("x-access", world))
            }
            #expect(seen[0] == seen[2] && seen[1] == seen[3] && seen[0] != seen[1] && seen[0].count == 1)
            #expect(try first.open("/.sallyport/login?return_to=/again&prompt=login").status == 200)
            #expect(self.last("x-access", world).count == 1 && !seen.contains(self.last("x-access", world)))
        }
    }
}
