import Providers
import Sessions
import Settings
import StoreBench
import Testing
import Vocabulary

/// What a provider that answers by a form tells beside the code (`provider.oidc.response_mode: form_post`).
@Suite("The answer that a browser posts")
struct PostedNameTests {
    private static let apple = #"{"name":{"firstName":"Ada","lastName":"Lovelace"},"email":"root@example.com"}"#

    private static func bench(_ mode: ResponseMode = .formPost) throws -> OpenIDProviderBench {
        try OpenIDProviderBench(metadata: ["userinfo_endpoint": .null]) {
            $0.responseMode = mode
            $0.claims.traits = ["email", "name", "given_name", "family_name"].map {
                ClaimSettings.Trait(name: $0, path: [$0])
            }
        }
    }

    /// The traits of a user who signs in with this member `user`.
    private static func traits(
        _ bench: OpenIDProviderBench,
        user: String?,
        claims: [String: JSONValue] = [:]
    ) async throws -> JSONValue? {
        let begun = try await bench.begin()
        let token = bench.idToken(bench.claims(nonce: begun.parameters["nonce"], claims))
        bench.transport.on(OpenIDProviderBench.tokenURL, .json(OpenIDProviderBench.tokens(idToken: token)))
        let completion = await bench.provider.completion(begun.callback(["user": user]), state: begun.state)
        return completion.user?.identity.traits
    }

    @Test("The provider is asked for a form where the settings say so, and for nothing where they do not")
    func asked() async throws {
        #expect(try await Self.bench().begin().parameters["response_mode"] == "form_post")
        #expect(try await Self.bench(.query).begin().parameters["response_mode"] == nil)
        #expect(try Self.bench().provider.answersByForm && !Self.bench(.query).provider.answersByForm)
    }

    @Test("Apple's user has a name at the first sign-in, and the address of the id_token alone")
    func names() async throws {
        let bench = try Self.bench()
        let first = try await Self.traits(bench, user: Self.apple)
        #expect(
            first == [
                "email": "jane@example.com", "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace",
            ]
        )
        let second = try await Self.traits(bench, user: nil)
        #expect(second == ["email": "jane@example.com"])
        let without = try await Self.traits(bench, user: Self.apple, claims: ["email": .null])
        #expect(without?["email"] == nil && without?["name"] == "Ada Lovelace")
    }

    @Test(
        "What the provider has signed comes before what is posted, and a provider that answers in the query tells no name"
    )
    func signed() async throws {
        let signed = try await Self.traits(Self.bench(), user: Self.apple, claims: ["name": "Jane"])
        #expect(signed?["name"] == "Jane" && signed?["given_name"] == "Ada")
        #expect(try await Self.traits(Self.bench(.query), user: Self.apple) == ["email": "jane@example.com"])
    }

    @Test(
        "A member user that cannot be read keeps nobody from signing in",
        arguments: [
            "", "x", "[]", "{", "null", #"{"name":1}"#, #"{"name":{"firstName":["Ada"]}}"#,
            #"{"name":{"firstName":"\#("a\\u0000")"}}"#, #"{"name":{"firstName":"A"},"name":{"firstName":"B"}}"#,
        ]
    )
    func malformed(user: String) async throws {
        #expect(try await Self.traits(Self.bench(), user: user) == ["email": "jane@example.com"], "\(user)")
    }
}
