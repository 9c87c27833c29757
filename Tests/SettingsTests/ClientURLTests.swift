import Settings
import Testing

@Suite("URLs of clients")
struct ClientURLTests {
    private func client(_ line: String) -> String {
        "clients:\n  - client_id: app\n    \(line)"
    }

    @Test("URLs after a sign-out and the page that begins a sign-in are read as they are written")
    func read() throws {
        let lines = """
            allowed_logout_urls: ["https://app.example.com/bye?x=%2F", "com.example.app:/bye"]
                initiate_login_uri: https://app.example.com/login?x=1
                backchannel_logout_uri: http://127.0.0.1:3000/logout?x=1
                backchannel_logout_session_required: true
            """
        let settings = try #require(SettingsBench().settings(adding: self.client(lines)))
        #expect(settings.clients[0].logoutURLs == ["https://app.example.com/bye?x=%2F", "com.example.app:/bye"])
        #expect(settings.clients[0].initiateLoginURI == "https://app.example.com/login?x=1")
        #expect(settings.clients[0].backchannelLogoutURI == "http://127.0.0.1:3000/logout?x=1")
        #expect(settings.clients[0].requiresLogoutSession)
    }

    @Test(
        "what neither a browser nor a logout token must be sent to is refused",
        arguments: [
            "allowed_logout_urls: [\"https://*.example.com/\"]", "allowed_logout_urls: [\"javascript:alert(1)\"]",
            "allowed_logout_urls: [\"http://app.example.com/\"]", "allowed_logout_urls: [/bye]",
            "initiate_login_uri: com.example.app:/login", "initiate_login_uri: http://app.example.com/login",
            "initiate_login_uri: \"https://app.example.com/#x\"", "initiate_login_uri: /login",
            "backchannel_logout_uri: http://app.example.com/logout", "backchannel_logout_uri: /logout",
            "backchannel_logout_uri: \"https://app.example.com/#x\"", "backchannel_logout_uri: com.example.app:/logout",
            "backchannel_logout_uri: https://user:password@app.example.com/logout",
        ]
    )
    func refused(line: String) {
        #expect(!SettingsBench().problems(adding: self.client(line)).isEmpty)
    }
}
