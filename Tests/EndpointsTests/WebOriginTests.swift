import Endpoints
import Testing

@Suite("Origins that requests name")
struct WebOriginTests {
    @Test(
        "an origin is the same in every spelling",
        arguments: [
            ("https://app.example.com", "https://app.example.com"),
            ("https://app.example.com", "https://app.example.com:443"),
            ("https://app.example.com", "https://app.example.com/"),
            ("https://app.example.com", "https://app.example.com:443/"),
            ("https://app.example.com", "HTTPS://App.EXAMPLE.com"),
            ("http://localhost:8080", "http://LOCALHOST:8080/"),
            ("http://localhost", "http://localhost:80"),
            ("https://xn--bcher-kva.example", "https://b\u{FC}cher.example"),
            ("https://xn--bcher-kva.example", "https://B\u{DC}CHER.Example:443/"),
            ("https://xn--bcher-kva.example", "https://XN--BCHER-KVA.example"),
            ("https://xn--r8jz45g.xn--zckzah", "https://\u{4F8B}\u{3048}.\u{30C6}\u{30B9}\u{30C8}"),
            ("https://xn--e1afmkfd.example", "https://\u{43F}\u{440}\u{438}\u{43C}\u{435}\u{440}.example"),
            ("https://[2001:db8::1]", "https://[2001:DB8:0:0:0:0:0:1]:443"),
            ("http://[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080/"),
            ("http://127.0.0.1:8080", "http://[::ffff:127.0.0.1]:8080"),
        ]
    )
    func spellings(origin: String, claimed: String) {
        #expect(WebOrigin(claimed.utf8)?.text == origin)
        #expect(WebOrigin.isSame(claimed.utf8, as: origin.utf8))
    }

    @Test(
        "everything else names another origin or none",
        arguments: [
            "", "null", "*", "https://", "https:///", "app.example.com", "//app.example.com", "https:app.example.com",
            "http://app.example.com", "https://app.example.com:80", "https://app.example.com:8443",
            "https://app.example.com:0443", "https://app.example.com:", "https://app.example.com:443x",
            "https://app.example.com:99999999999999999999", "https://app.example.com:65979",
            "https://app.example.com//",
            "https://app.example.com/x", "https://app.example.com/?", "https://app.example.com?",
            "https://app.example.com#",
            "https://u@app.example.com", "https://app.example.com@evil.example", "https://app.example.com.evil.example",
            "https://evilapp.example.com", "https://app.example.com.", "https://app%2Eexample.com",
            "https://app.example.com ",
            "https://app.example.com, https://app.example.com", "https://app.example.com https://evil.example",
            "https://[app.example.com]", "https://[::1", "https://::1", "https://[::1]x", "https://[::1%25lo]",
            "https://app\u{3002}example.com", "https://\u{FF41}pp.example.com", "https://app.example.com\u{0}",
            "ftp://app.example.com", "file://", "capacitor://localhost", "chrome-extension://app.example.com",
            "https://" + String(repeating: "\u{FC}", count: 64) + ".example.com",
            "https://" + String(repeating: "a", count: 600),
        ]
    )
    func others(claimed: String) {
        #expect(!WebOrigin.isSame(claimed.utf8, as: "https://app.example.com".utf8))
        if let origin = WebOrigin(claimed.utf8) { #expect(WebOrigin(origin.text.utf8) == origin) }
    }

    @Test("bytes that are no text name none")
    func bytes() {
        #expect(WebOrigin(Array("https://b".utf8) + [0xFC] + Array("cher.example".utf8)) == nil)
        #expect(WebOrigin(Array("https://".utf8) + [0xF4, 0x90, 0x80, 0x80]) == nil)
    }
}
