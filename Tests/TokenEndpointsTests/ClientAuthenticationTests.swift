import Endpoints
import Foundation
import Settings
import Testing
import Vocabulary

@Suite("Client authentication at the token endpoint")
struct ClientAuthenticationTests {
    private static let secret = "s3cr%t+:ü"

    private static func basic(_ pair: String, scheme: String = "Basic") -> String {
        "\(scheme) \(Data(pair.utf8).base64EncodedString())"
    }

    /// A grant type that does not exist: only an authenticated client gets the error for it.
    private static func parameters(_ clientID: String?, secret: String? = nil) -> [String: String] {
        var parameters = ["grant_type": "none"]
        parameters["client_id"] = clientID
        parameters["client_secret"] = secret
        return parameters
    }

    @Test("a public client sends its client_id in the body")
    func publicClient() async {
        #expect(await TokenBench().post(json: Self.parameters("native-app")).error == "unsupported_grant_type")
    }

    @Test("a confidential client sends its secret in the body")
    func secretPost() async {
        let bench = TokenBench()
        let parameters = Self.parameters("server app", secret: Self.secret)
        #expect(await bench.post(json: parameters).error == "unsupported_grant_type")
        #expect(await bench.post(form: parameters).error == "unsupported_grant_type")
    }

    @Test(
        "a confidential client can use Basic, form-encoded as in RFC 6749 2.3.1 or plain as many clients do",
        arguments: [
            "server%20app:s3cr%25t%2B%3A%C3%BC", "server+app:s3cr%25t%2B:%c3%bc", "server app:s3cr%t+:ü",
        ]
    )
    func basicCredentials(pair: String) async {
        let bench = TokenBench()
        for scheme in ["Basic", "basic", "BASIC"] {
            let answer = await bench.post(form: Self.parameters(nil), authorization: Self.basic(pair, scheme: scheme))
            #expect(answer.error == "unsupported_grant_type")
        }
    }

    @Test("with Basic the body may repeat the same client_id, but not another one")
    func basicWithClientID() async {
        let bench = TokenBench()
        let authorization = Self.basic("server app:s3cr%t+:ü")
        let same = await bench.post(form: Self.parameters("server app"), authorization: authorization)
        #expect(same.error == "unsupported_grant_type")
        let other = await bench.post(form: Self.parameters("native-app"), authorization: authorization)
        #expect(other.error == "invalid_client")
        #expect(other.status == 401)
    }

    @Test("wrong, missing and superfluous secrets and unknown clients get the same bytes")
    func wrongSecrets() async {
        let bench = TokenBench()
        let wrong: [[String: String]] = [
            Self.parameters("server app", secret: "wrong"),
            Self.parameters("server app"),
            Self.parameters("native-app", secret: "any"),
            Self.parameters("nobody"),
            Self.parameters("nobody", secret: "any"),
            Self.parameters(nil),
            Self.parameters(nil, secret: "any"),
            Self.parameters("native-app\0"),
        ]
        let bodies = await Self.bodies(of: wrong, in: bench)
        #expect(bodies.count == 1)
    }

    @Test("without Authorization invalid_client is 400 without a challenge")
    func noChallenge() async {
        let answer = await TokenBench().post(json: Self.parameters("nobody"))
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_client")
        #expect(answer.field("www-authenticate") == nil)
        #expect(answer.reason == .oauthInvalidClient)
    }

    @Test(
        "with Authorization invalid_client is 401 with a challenge for Basic",
        arguments: [
            basic("server app:wrong"), basic("nobody:any"), basic("native-app:any"), basic("server app"), basic(""),
            basic("server app:"), basic("nobody:"), basic(":"),
            "Basic", "Basic !!!!", "Basic c2VydmVy", "Basic c2VydmVyOg=", "Basic c2VydmVy-_==", "Bearer abc", "",
        ]
    )
    func challenge(authorization: String) async {
        let answer = await TokenBench().post(form: Self.parameters(nil), authorization: authorization)
        #expect(answer.status == 401)
        #expect(answer.error == "invalid_client")
        #expect(answer.field("www-authenticate")?.hasPrefix("Basic ") == true)
    }

    @Test("Basic with an empty secret, or an empty one in the body, names a public client; no client that has a secret")
    func publicClientByBasic() async {
        let bench = TokenBench()
        let bare = await bench.post(form: Self.parameters("native-app"))
        for id in ["native-app", nil] {
            let answer = await bench.post(form: Self.parameters(id), authorization: Self.basic("native-app:"))
            #expect(answer.error == bare.error && answer.error != "invalid_client")
        }
        let posted = await bench.post(form: Self.parameters("native-app", secret: ""))
        #expect(posted.error == bare.error)
        let other = await bench.post(form: Self.parameters("plain"), authorization: Self.basic("native-app:"))
        #expect(other.error == "invalid_client")
        for secret in ["", nil] {
            #expect(await bench.post(form: Self.parameters("server app", secret: secret)).error == "invalid_client")
        }
        let both = await bench.post(
            form: Self.parameters("native-app", secret: "any"),
            authorization: Self.basic("native-app:")
        )
        #expect(both.error == "invalid_request")
    }

    @Test("a client that proves itself by keys alone is not public")
    func keysAlone() async {
        let bench = TokenBench { if $0.clientID == "native-app" { $0.keySet = Array(#"{"keys":[]}"#.utf8) } }
        let answer = await bench.post(form: Self.parameters(nil), authorization: Self.basic("native-app:"))
        #expect(answer.error == "invalid_client")
    }

    @Test("two methods at once are invalid_request, right or wrong")
    func twoMethods() async {
        let bench = TokenBench()
        for secret in [Self.secret, "wrong"] {
            let answer = await bench.post(
                form: Self.parameters("server app", secret: secret),
                authorization: Self.basic("server app:s3cr%t+:ü")
            )
            #expect(answer.status == 400)
            #expect(answer.error == "invalid_request")
        }
    }

    @Test("two Authorization fields are refused before")
    func twoFields() async {
        let authorization = Self.basic("server app:s3cr%t+:ü")
        let answer = await TokenBench().post(
            Array("grant_type=none".utf8),
            fields: [
                ("content-type", "application/x-www-form-urlencoded"), ("authorization", authorization),
                ("authorization", authorization),
            ]
        )
        #expect(answer.status == 400 && answer.reason == .credentialRepeated)
    }

    private static func bodies(of requests: [[String: String]], in bench: TokenBench) async -> Set<[UInt8]> {
        var bodies: Set<[UInt8]> = []
        for parameters in requests {
            bodies.insert(await bench.post(json: parameters).response.body)
            bodies.insert(await bench.post(form: parameters).response.body)
        }
        return bodies
    }
}
