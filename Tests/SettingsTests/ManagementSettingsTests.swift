import Settings
import Testing
import Vocabulary

@Suite("An address for operators")
struct ManagementSettingsTests {
    private static let tokens = "admin: {tokens_file: operator-tokens}\n"

    @Test("it is kept apart from the addresses for clients")
    func read() throws {
        let text =
            Self.tokens
            + "listen: ['127.0.0.1:1', {address: '127.0.0.1:2', role: management, public_url: 'https://m.example'}]\n"
        let settings = try #require(SettingsBench().settings(adding: text), "\(SettingsBench().problems(adding: text))")
        #expect(settings.listen.map(\.address.port) == [1] && settings.management.map(\.address.port) == [2])
        #expect(settings.management[0].publicURL == PublicURL(isHTTPS: true, host: "m.example", port: nil))
    }

    @Test(
        "what could serve nobody, or everybody, is refused",
        arguments: [
            ("['127.0.0.1:1', {address: '127.0.0.1:2', role: management}]", tokens, "listen[1].public_url"),
            (
                "['127.0.0.1:1', {address: '127.0.0.1:2', public_url: 'https://m.example'}]", tokens,
                "listen[1].public_url"
            ),
            (
                "['127.0.0.1:1', {address: '127.0.0.1:2', role: management, public_url: 'http://m.example'}]", tokens,
                "listen[1].public_url"
            ),
            (
                "['127.0.0.1:1', {address: '127.0.0.1:2', role: management, public_url: 'https://m.example'}]", "",
                "listen[1].role"
            ),
            ("{address: '127.0.0.1:2', role: management, public_url: 'https://m.example'}", tokens, "listen"),
            (
                "['127.0.0.1:1', {address: '127.0.0.1:1', role: management, public_url: 'https://m.example'}]", tokens,
                "listen[1]"
            ),
            (
                "['127.0.0.1:1', {address: '127.0.0.1:9090', role: management, public_url: 'https://m.example'}]",
                tokens,
                "admin.listen"
            ),
        ]
    )
    func refused(listen: String, more: String, key: String) {
        let problems = SettingsBench().problems(adding: "\(more)listen: \(listen)\n")
        #expect(problems.map(\.key) == [key], "\(problems)")
    }
}
