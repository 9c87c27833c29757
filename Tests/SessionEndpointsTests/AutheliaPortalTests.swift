import EndpointBench
import Endpoints
import Settings
import Testing

@Suite("The portal of Authelia")
struct AutheliaPortalTests {
    private static let endpoints = AutheliaPortal(
        wanted: OAuth2ProxyEndpoints(
            origins: ServedOrigins(
                ["app.example.com", "other.example.com"].map { name in
                    let url = PublicURL(isHTTPS: true, host: name, port: nil)
                    return HostSettings(publicURL: url, endpoints: false, routes: [])
                }
            ),
            handoffParameter: "token"
        )
    ).endpoints

    private func location(_ path: String, _ query: String, _ method: String) async throws -> String? {
        let endpoint = try #require(Self.endpoints.first { $0.path == path })
        #expect(endpoint.methods.contains(method))
        let answer = await WireRequest(method, path, query: query).answer(of: endpoint)
        #expect(answer.status == 303)
        return answer.fields.first { $0.name == "location" }?.value
    }

    @Test(
        "A link to the portal leads to the sign-in for a page of a host of the gateway, else to the user's sessions",
        arguments: [
            (
                "rd=https://other.example.com/x%3Fy=1&rm=GET",
                "https://other.example.com/.sallyport/login?return_to=/x%3Fy%3D1"
            ),
            ("rd=https://other.example.com/", "https://other.example.com/.sallyport/login?return_to=/"),
            ("rd=https://other.example.com/x%3Ftoken=t", "https://other.example.com/.sallyport/login?return_to=/x"),
            ("rd=/x", "https://app.example.com/.sallyport/login?return_to=/x"), ("", "/.sallyport/sessions"),
            ("rd=https://evil.example/x", "/.sallyport/sessions"), ("rd=//evil.example/x", "/.sallyport/sessions"),
            ("rd=https://app.example.com/", "/.sallyport/sessions"), ("rd=javascript:x", "/.sallyport/sessions"),
        ]
    )
    func signIn(_ query: String, _ location: String) async throws {
        for method in ["GET", "HEAD"] { #expect(try await self.location("/", query, method) == location) }
    }

    @Test(
        "A link to its sign-out leads to the page with a button, and from there to the page that it names, on a host of ours",
        arguments: [
            ("rd=/bye", "/.sallyport/logout?return_to=%2Fbye"), ("", "/.sallyport/logout?return_to=%2F"),
            ("rd=https://app.example.com/bye", "/.sallyport/logout?return_to=%2Fbye"),
            (
                "rd=https://other.example.com/x",
                "/.sallyport/logout?return_to=%2F%3Frd%3Dhttps%253A%252F%252Fother.example.com%252Fx"
            ),
            ("rd=https://evil.example/x", "/.sallyport/logout?return_to=%2F"),
        ]
    )
    func signOut(_ query: String, _ location: String) async throws {
        for method in ["GET", "HEAD", "POST"] {
            #expect(try await self.location("/logout", query, method) == location)
        }
    }
}
