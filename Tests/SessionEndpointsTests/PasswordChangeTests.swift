import EndpointBench
import Endpoints
import Pages
import Testing

@Suite("The well-known URL for changing passwords")
struct PasswordChangeTests {
    @Test("It leads to the configured page on every host, and is the app's where there is none")
    func redirect() async throws {
        #expect(PasswordChange.endpoint(by: .included) == nil)
        let design = PageDesign(changePasswordURL: "https://id.example.com/password")
        let endpoint = try #require(PasswordChange.endpoint(by: design))
        #expect(endpoint.path == "/.well-known/change-password" && endpoint.methods == ["GET", "HEAD"])
        if case .everyHost = endpoint.scope {} else { Issue.record("not on every host") }
        let answer = await WireRequest("GET", endpoint.path).answer(of: endpoint)
        #expect(answer.status == 303)
        #expect(answer.fields.first { $0.name == "location" }?.value == "https://id.example.com/password")
    }
}
