import Calls
import Providers
import Testing

@Suite("URLs of providers")
struct ProviderURLTests {
    @Test(
        "https is accepted, and http on loopback only",
        arguments: [
            "https://idp.example.com", "https://idp.example.com/", "https://idp.example.com:8443/realms/a?x=1&y=%20",
            "https://192.0.2.1/a", "https://[2001:db8::1]:444/a", "http://127.0.0.1:1234/a", "http://localhost/a",
            "http://[::1]:80", "http://127.9.9.9",
        ]
    )
    func accepted(_ text: String) throws {
        #expect(try EndpointURL(text).text == text)
    }

    @Test(
        "Everything that two parsers could read differently is refused, and http beyond loopback",
        arguments: [
            "", "idp.example.com", "//idp.example.com", "ftp://a", "HTTPS://a", "https:a", "https://", "https:///a",
            "https://a@b/", "https://a:b@c/", "https://a:0/", "https://a:65536/", "https://a:x/", "https://a:/",
            "https://a:+80/", "https://a/#f", "https://a\\b/", "https://a/\\b", "https://a b/", "https://a/\u{7F}",
            "https://a/\r\nHost: b", "https://a/é", "https://é/", "https://%61/", "https://[::1/", "https://[1.2.3.4]/",
            "https://[fe80::1%25eth0]/", "https://::1/", "http://idp.example.com/", "http://10.0.0.1/",
            "http://localhost.example.com/", "http://a.localhost/", "http://127.0.0.1.example.com/",
            "http://0x7f000001/",
            "http://[::ffff:10.0.0.1]/",
        ]
    )
    func refused(_ text: String) {
        #expect(throws: EndpointURLError.self) { try EndpointURL(text) }
    }

    @Test("A URL of more than 2048 bytes is refused")
    func long() throws {
        let base = "https://a/"
        _ = try EndpointURL(base + String(repeating: "a", count: 2048 - base.count))
        #expect(throws: EndpointURLError.self) {
            try EndpointURL(base + String(repeating: "a", count: 2049 - base.count))
        }
    }

    @Test("The origin has scheme, host and port, without the scheme's default port")
    func origin() throws {
        #expect(try EndpointURL("https://IDP.example.com:443/a?b").origin == "https://idp.example.com")
        #expect(try EndpointURL("https://idp.example.com:80/a").origin == "https://idp.example.com:80")
        #expect(try EndpointURL("http://[::1]:80/").origin == "http://[::1]")
        #expect(try EndpointURL("http://127.0.0.1:81").origin == "http://127.0.0.1:81")
    }
}
