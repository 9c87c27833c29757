import Foundation
import GatewayBench
import SocialBench
import Testing
import Vocabulary

/// Native apps sign in with what the kits of Google, Apple and Facebook give to them, as Auth0's SDKs send it. The doubles
/// of the three verify what the gateway sends to them.
@Suite("Native social sign-in", .blocking) struct NativeSocialTests {
    private struct Bench {
        let social: SocialServer
        let gateway: Gateway

        func exchange(_ type: String, _ token: Secret, _ more: [String: JSONValue] = [:]) throws -> Answer {
            var members: [String: JSONValue] = [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "client_id": "ios",
                "subject_token": .string(String(decoding: token.bytes, as: UTF8.self)),
                "subject_token_type": .string("http://auth0.com/oauth/token-type/\(type)"),
                "scope": "openid profile email offline_access",
            ]
            members.merge(more) { $1 }
            let body = String(decoding: JSONText.encode(.object(members)), as: UTF8.self)
            return try self.gateway.request(
                Request.post("/oauth/token", ["Content-Type: application/json"], body: body)
            )
        }

        func userInfo(_ answer: Answer) throws -> JSONValue {
            let token = try #require(JSONText.decode(Array(answer.text.utf8))?["access_token"]?.string)
            let facts = try self.gateway.get("/userinfo", ["Authorization: Bearer \(token)"])
            return JSONText.decode(Array(facts.text.utf8)) ?? .null
        }
    }

    /// The keys of `native_social`, with the doubles' URLs.
    static func settings(_ network: SocialNetwork) -> String {
        """
        native_social:
          google:
            audiences: ["\(network.registration.googleAudience)"]
            jwks_url: \(network.url(.googleKeys))
          apple:
            bundle_ids: [\(network.registration.bundleIDs.joined(separator: ", "))]
            team_id: \(network.registration.teamID)
            key_id: \(network.registration.keyID)
            private_key_file: apple.p8
            token_url: \(network.url(.appleToken))
            jwks_url: \(network.url(.appleKeys))
          facebook:
            app_id: "\(network.registration.facebookAppID)"
            app_secret_file: facebook.secret
            debug_url: \(network.url(.facebookDebug))
        """
    }

    static func files(_ network: SocialNetwork) -> [String: String] {
        [
            "apple.p8": String(decoding: network.registration.applePEM.bytes, as: UTF8.self),
            "facebook.secret": network.registration.facebookSecret,
        ]
    }

    private func with(_ body: (Bench) throws -> Void) throws {
        let social = try SocialServer()
        let app = try FakeUpstream()
        defer { app.stop() }
        let settings = Config.file(
            upstream: app.port,
            clients: """
                  - client_id: ios
                    native_social_login: {google: {enabled: true}, apple: {enabled: true}, facebook: {enabled: true}}
                  - client_id: web
                    session_transfer: {allowed_authentication_methods: [query]}
                """,
            more: Self.settings(social.network)
        )
        try Gateway.with(settings, files: Self.files(social.network)) { gateway throws in
            try body(Bench(social: social, gateway: gateway))
            #expect(!gateway.output.contains("secret-part"))
        }
    }

    @Test("Each kit signs in: tokens, an id_token, and an account named by provider and subject; once")
    func kinds() throws {
        try self.with { bench throws in
            let network = bench.social.network
            for (type, token, subject) in [
                ("google-id-token", network.googleToken(), "google-oauth2|\(SocialNetwork.googleSubject)"),
                ("apple-authz-code", network.appleCode(), "apple|\(SocialNetwork.appleSubject)"),
                (
                    "facebook-info-session-access-token", network.facebookToken(),
                    "facebook|\(SocialNetwork.facebookUser)"
                ),
            ] {
                let answer = try bench.exchange(type, token)
                #expect(answer.status == 200, "\(type): \(answer.text)")
                for member in ["access_token", "id_token", "refresh_token", "expires_in", "scope"] {
                    #expect(answer.text.contains("\"\(member)\""), "\(type): \(member)")
                }
                #expect(try bench.userInfo(answer)["sub"]?.string == subject)
                let again = try bench.exchange(type, token)
                #expect(again.status == 400 && again.text.contains("invalid_grant"), "\(type): \(again.text)")
            }
            #expect(network.complaints.isEmpty)
            #expect(
                bench.gateway.output.contains("\"code\":\"sens\"") && bench.gateway.output.contains("\"code\":\"fens\"")
            )
            #expect(bench.gateway.output.contains(Reason.socialReplayed.rawValue))
        }
    }

    @Test(
        "The bytes of Auth0.swift, Auth0.Android and react-native-auth0: what they send, and what their decoders demand",
        arguments: [
            (
                "apple-authz-code", "application/json",
                #"{"user_profile":"{\"name\":{\"firstName\":\"Ada\",\"lastName\":\"Lovelace\"}}","scope":"openid profile "#
                    + #"email offline_access","client_id":"ios","subject_token":"TOKEN","subject_token_type":"TYPE","#
                    + #""grant_type":"urn:ietf:params:oauth:grant-type:token-exchange"}"#
            ),
            (
                "google-id-token", "application/json; charset=utf-8",
                #"{"client_id":"ios","grant_type":"urn:ietf:params:oauth:grant-type:token-exchange","subject_token":"#
                    + #""TOKEN","subject_token_type":"TYPE","scope":"profile email offline_access openid"}"#
            ),
            (
                "facebook-info-session-access-token", "application/json",
                #"{"grant_type":"urn:ietf:params:oauth:grant-type:token-exchange","client_id":"ios","subject_token":"#
                    + #""TOKEN","subject_token_type":"TYPE","user_profile":"{\"email\":\"a@example.org\",\"name\":\"Ada\"}","#
                    + #""scope":"openid profile email offline_access"}"#
            ),
        ]
    )
    func shapes(type: String, mediaType: String, body: String) throws {
        try self.with { bench throws in
            let network = bench.social.network
            let token =
                switch type {
                case "apple-authz-code": network.appleCode()
                case "google-id-token": network.googleToken()
                default: network.facebookToken()
                }
            let bytes = body.replacing("TOKEN", with: String(decoding: token.bytes, as: UTF8.self))
                .replacing("TYPE", with: "http://auth0.com/oauth/token-type/\(type)")
            let request = Request.post("/oauth/token", ["Content-Type: \(mediaType)"], body: bytes)
            let answer = try bench.gateway.request(request)
            #expect(answer.status == 200, "\(answer.text)")
            let members = JSONText.decode(Array(answer.text.utf8)) ?? .null
            for name in ["access_token", "id_token", "refresh_token", "scope"] {
                #expect(members[name]?.string?.isEmpty == false, "\(name)")
            }
            #expect(members["token_type"] == "Bearer" && members["expires_in"] == .integer(3600))
            #expect(members["issued_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
        }
    }

    @Test("user_profile, as an object or as text, fills only what is not known, and verifies nothing")
    func profiles() throws {
        try self.with { bench throws in
            let profile: JSONValue = ["name": ["firstName": "Ada", "lastName": "Lovelace"], "email": "a@example.org"]
            let text = String(decoding: JSONText.encode(profile), as: UTF8.self)
            for value in [profile, .string(text)] {
                let token = bench.social.network.facebookToken()
                let more = ["user_profile": value]
                let facts = try bench.userInfo(
                    try bench.exchange("facebook-info-session-access-token", token, more)
                )
                #expect(facts["email"] == "a@example.org")
                #expect(facts["email_verified"] == false)
                #expect(facts["given_name"] == "Ada" && facts["family_name"] == "Lovelace", "\(facts)")
            }
            let bad = try bench.exchange(
                "facebook-info-session-access-token",
                bench.social.network.facebookToken(),
                ["user_profile": "{"]
            )
            #expect(bad.text.contains("invalid_request"))
        }
    }

    @Test("A refusal is invalid_grant, an outage 503 with Retry-After, and a client without the kit may not")
    func refusals() throws {
        try self.with { bench throws in
            let network = bench.social.network
            let expired = try bench.exchange("google-id-token", network.googleToken(["exp": 1_000_000_000]))
            #expect(expired.status == 400 && expired.text.contains("invalid_grant"))
            #expect(eventually { bench.gateway.output.contains(Reason.socialRefused.rawValue) })
            network.breakDown(.appleToken, with: .answer(500, "{}"))
            let away = try bench.exchange("apple-authz-code", network.appleCode())
            #expect(away.status == 503 && away.text.contains("temporarily_unavailable"))
            #expect(away.lines.contains { $0.lowercased().hasPrefix("retry-after:") })
            let other = try bench.exchange("google-id-token", network.googleToken(), ["client_id": "web"])
            #expect(other.text.contains("unauthorized_client"))
            let target = try bench.exchange("google-id-token", network.googleToken(), ["audience": "https://no"])
            #expect(target.text.contains("invalid_target"))
        }
    }
}
