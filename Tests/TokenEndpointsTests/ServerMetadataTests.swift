import EndpointBench
import Endpoints
import Settings
import SignOn
import Testing
import Vocabulary

@Suite("Metadata of the authorization server")
struct ServerMetadataTests {
    private static func document(
        _ clients: [ClientSettings] = [],
        signsIn: Bool = true,
        levels: AuthenticationLevels = AuthenticationLevels([])
    ) async throws -> JSONValue {
        let metadata = ServerMetadata(
            origin: "https://auth.example.com",
            signsIn: signsIn,
            clients: ClientRegistry(clients),
            levels: levels
        )
        let endpoint = try #require(metadata.endpoints.first)
        return JSONText.decode(await TokenBench.request("GET", endpoint.path).answer(of: endpoint).body) ?? .null
    }

    private static func texts(_ value: JSONValue?) -> Set<String> {
        guard case .array(let values) = value else { return [] }
        return Set(values.compactMap(\.string))
    }

    @Test("the methods and algorithms of client authentication are those that are served; introspection is not public")
    func authentication() async throws {
        let document = try await Self.document()
        let all: Set = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
        for endpoint in ["token", "revocation"] {
            #expect(Self.texts(document["\(endpoint)_endpoint_auth_methods_supported"]) == all)
        }
        #expect(Self.texts(document["introspection_endpoint_auth_methods_supported"]) == all.subtracting(["none"]))
        for endpoint in ["token", "revocation", "introspection"] {
            let algorithms = Self.texts(document["\(endpoint)_endpoint_auth_signing_alg_values_supported"])
            #expect(algorithms == ["RS256", "PS256", "ES256", "EdDSA"])
        }
    }

    @Test("acr_values_supported has the levels that a sign-in reaches and the providers' names for them")
    func levels() async throws {
        func supported(_ provider: any ProviderSettings, signsIn: Bool = true) async throws -> JSONValue? {
            var settings = Settings(hosts: [], upstreams: [])
            settings.provider = provider
            let levels = AuthenticationLevels(settings.providers)
            return try await Self.document(signsIn: signsIn, levels: levels)["acr_values_supported"]
        }
        func openID(_ levels: [ClaimSettings.Level]) -> OpenIDSettings {
            var settings = OpenIDSettings(issuer: "https://idp.example.com", client: ProviderClientSettings(id: "c"))
            settings.claims.levels = levels
            return settings
        }
        let named = openID([
            .init(claim: .acr, value: "phr", level: .aal3), .init(claim: .acr, value: "gold", level: .aal2),
            .init(claim: .amr, value: "mfa", level: .aal2),
        ])
        #expect(try await supported(named) == ["aal1", "aal2", "aal3", "gold", "phr"])
        #expect(try await supported(openID([])) == ["aal1"])
        let user = UserSettings(identifier: "a", id: "a", passwordHash: Secret(""), traits: .object([:]), aal: .aal2)
        #expect(try await supported(FixedUsersSettings([user])) == ["aal1", "aal2"])
        #expect(try await supported(named, signsIn: false) == nil)
    }

    @Test("back-channel logout with sid is announced where users sign in")
    func backChannelLogout() async throws {
        for name in ["backchannel_logout_supported", "backchannel_logout_session_supported"] {
            #expect(try await Self.document()[name] == true)
            #expect(try await Self.document(signsIn: false)[name] == nil)
        }
    }

    @Test("implicit and id_token are announced only where a client has the grant")
    func implicit() async throws {
        let without = try await Self.document([ClientSettings(clientID: "app")])
        #expect(!Self.texts(without["grant_types_supported"]).contains("implicit"))
        #expect(Self.texts(without["response_types_supported"]) == ["code"])
        var client = ClientSettings(clientID: "express")
        client.grantTypes = [.implicit]
        let with = try await Self.document([ClientSettings(clientID: "app"), client])
        #expect(Self.texts(with["grant_types_supported"]).contains("implicit"))
        #expect(Self.texts(with["response_types_supported"]) == ["code", "id_token"])
        #expect(Self.texts(try await Self.document([client], signsIn: false)["response_types_supported"]) == [])
    }
}
