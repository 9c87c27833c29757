import Foundation
import GatewayBench
import SocialBench
import Testing
import Vocabulary

/// Native apps sign in with the id_token of a kit in a flow of Kratos's shape.
@Suite("id_token in a native flow", .blocking) struct IDTokenSignInTests {
    private func with(_ body: (SocialNetwork, Gateway) throws -> Void) throws {
        let social = try SocialServer()
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(upstream: app.port, more: NativeSocialTests.settings(social.network))
        try Gateway.with(settings, files: NativeSocialTests.files(social.network)) { try body(social.network, $0) }
    }

    private func submit(
        _ gateway: Gateway,
        _ kind: String,
        _ members: [String: JSONValue]
    ) throws -> (Answer, JSONValue?) {
        let flow = try gateway.get("/self-service/\(kind)/api").text
        let id = try #require(JSONText.decode(Array(flow.utf8))?["id"]?.string)
        let body = String(decoding: JSONText.encode(.object(["method": "oidc"].merging(members) { $1 })), as: UTF8.self)
        let fields = ["Content-Type: application/json"]
        let answer = try gateway.request(Request.post("/self-service/\(kind)?flow=\(id)", fields, body: body))
        return (answer, JSONText.decode(Array(answer.text.utf8)))
    }

    @Test("Google's and Apple's id_tokens give a session token at once, in both flows, each once")
    func kinds() throws {
        try self.with { network, gateway throws in
            func text(_ token: Secret) -> JSONValue { .string(String(decoding: token.bytes, as: UTF8.self)) }
            for (provider, kind, token, subject) in [
                (
                    "google", "login", network.googleToken(["nonce": "n-1"]),
                    "google-oauth2|\(SocialNetwork.googleSubject)"
                ),
                ("apple", "registration", network.appleToken(["nonce": "n-1"]), "apple|\(SocialNetwork.appleSubject)"),
            ] {
                let members = ["provider": .string(provider), "id_token": text(token)] as [String: JSONValue]
                let without = try self.submit(gateway, kind, members)
                #expect(without.0.status == 400 && without.0.text.contains("\"id\":4000001"))
                let nonce = members.merging(["id_token_nonce": "n-1"]) { $1 }
                let (answer, document) = try self.submit(gateway, kind, nonce)
                #expect(answer.status == 200, "\(answer.text)")
                #expect(document?["session"]?["identity"]?["external_id"] == .string(subject))
                #expect(answer.text.contains(#""method":"oidc""#), "\(answer.text)")
                let session = try #require(document?["session_token"]?.string)
                #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(session)"]).status == 200)
                #expect(try self.submit(gateway, kind, nonce).0.status == 400)
            }
            #expect(try self.submit(gateway, "login", ["provider": "facebook", "id_token": "x"]).0.status == 400)
            #expect(gateway.output.contains(Reason.socialReplayed.rawValue))
        }
    }

    @Test("Where a provider has the kit's issuer beside others, its user signs in, as its claims and allow say")
    func ownedByProvider() throws {
        let social = try SocialServer()
        let app = try FakeUpstream()
        defer { app.stop() }
        func settings(_ allow: String) -> String {
            """
            listen: 127.0.0.1:0
            event_loops: 1
            admin: {listen: 127.0.0.1:0}
            upstream: http://127.0.0.1:\(app.port)
            session: {cookie: sallyport}
            hosts:
              - {public_url: "http://app.example.com", endpoints: true, providers: [partner, google], routes: [{path: /**}]}
            providers:
              - name: partner
                essential: false
                oidc: {issuer: "http://127.0.0.1:9", client_id: a, client_authentication: none}
              - name: google
                essential: false
                oidc: {issuer: "https://accounts.google.com", client_id: a, client_authentication: none\(allow)}
            \(NativeSocialTests.settings(social.network))
            drain: {delay: 0s, timeout: 100ms}

            """
        }
        for (allow, isAdmitted) in [("", true), (", allow: {email_domains: [other.example]}", false)] {
            try Gateway.with(settings(allow), files: NativeSocialTests.files(social.network)) { gateway throws in
                func kit(_ name: String, _ token: Secret) -> [String: JSONValue] {
                    let text = String(decoding: token.bytes, as: UTF8.self)
                    return ["provider": .string(name), "id_token": .string(text), "id_token_nonce": "n-1"]
                }
                let google = kit("google", social.network.googleToken(["nonce": "n-1"]))
                let (answer, document) = try self.submit(gateway, "login", google)
                #expect(isAdmitted ? answer.status == 200 : [400, 403].contains(answer.status), "\(answer.text)")
                let id = document?["session"]?["identity"]?["external_id"]
                #expect(id == (isAdmitted ? .string("google|\(SocialNetwork.googleSubject)") : nil), "\(answer.text)")
                if !isAdmitted { #expect(eventually { gateway.output.contains("signin.not_allowed") }) }
                // Apple's kit belongs to no provider here.
                let apple = kit("apple", social.network.appleToken(["nonce": "n-1"]))
                let (other, user) = try self.submit(gateway, "login", apple)
                let subject = user?["session"]?["identity"]?["external_id"]
                #expect(
                    other.status == 200 && subject == .string("apple|\(SocialNetwork.appleSubject)"),
                    "\(other.text)"
                )
            }
        }
    }
}
