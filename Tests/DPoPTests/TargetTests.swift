import JOSE
import TestSupport
import Testing
import Vocabulary

@Suite struct TargetTests {
    private func matches(_ htu: String, _ path: String, origin: String = Bench.origin) -> Bool {
        DPoPTarget(origin: bytes(origin), path: bytes(path)).matches(htu)
    }

    @Test(arguments: [
        ("https://app.example.com/oauth/token", "/oauth/token"),
        // RFC 9449 4.3: without query and fragment.
        ("https://app.example.com/a", "/a?b=c"), ("https://app.example.com/a?x=y", "/a?b=c"),
        ("https://app.example.com/a#f", "/a"), ("https://app.example.com?x", "/"),
        // RFC 3986 6.2.2.1 and 6.2.3.
        ("HTTPS://App.EXAMPLE.com/a", "/a"), ("https://app.example.com:443/a", "/a"),
        ("https://app.example.com:/a", "/a"), ("https://app.example.com", "/"), ("https://app.example.com/", "/"),
        ("https://app.example.com/%c3%a4", "/%C3%A4"), ("https://app.example.com/a%2fb", "/a%2Fb"),
        // 6.2.2.2.
        ("https://app.example.com/%7Euser", "/~user"), ("https://app.example.com/~user", "/%7euser"),
        ("https://app.example.com/%61%2D%2E_", "/a-._"),
        // 6.2.2.3.
        ("https://app.example.com/x/../a", "/a"), ("https://app.example.com/./a", "/a"),
        ("https://app.example.com/a/b/..", "/a/"), ("https://app.example.com/a/.", "/a/"),
        ("https://app.example.com/%2e%2E/a", "/a"), ("https://app.example.com/../../a", "/a"),
        ("https://app.example.com/a/b/c/./../../g", "/a/g"),
        // What is not ASCII stands for its bytes in UTF-8.
        ("https://app.example.com/ä", "/%C3%A4"), ("https://app.example.com/日本/語", "/%E6%97%A5%E6%9C%AC/%E8%AA%9E"),
        ("https://app.example.com/😀", "/%f0%9f%98%80"), ("https://app.example.com/a b", "/a%20b"),
        ("https://app.example.com/a%20b", "/a%20b"), ("https://app.example.com/%22%5B", "/\"["),
        // Auth0.Android: the path decoded, `%` and what no URL can hold encoded again, the rest as it is.
        ("https://app.example.com/files/a/b", "/files/a%2Fb"), ("https://app.example.com/ä/b", "/%C3%A4%2Fb"),
        ("https://app.example.com/a%25b", "/a%25b"), ("https://app.example.com/a%252Fb", "/a%252Fb"),
        ("https://app.example.com/a%3Fb", "/a%3Fb"), ("https://app.example.com/a:b@c", "/a%3Ab%40c"),
        ("https://app.example.com/a&b=c", "/a%26b%3Dc"),
        // An escape that is none stays.
        ("https://app.example.com/100%", "/100%25"), ("https://app.example.com/%zz", "/%25zz"),
        ("https://app.example.com//a//b/", "//a//b/"),
    ])
    func isTheSame(_ htu: String, _ path: String) {
        #expect(self.matches(htu, path))
    }

    @Test(arguments: [
        ("https://app.example.com/other", "/oauth/token"), ("https://app.example.com/oauth/token/", "/oauth/token"),
        ("https://app.example.com/OAuth/Token", "/oauth/token"), ("http://app.example.com/a", "/a"),
        ("https://app.example.com:8443/a", "/a"), ("https://app.example.com:80/a", "/a"),
        ("https://app.example.org/a", "/a"), ("https://app.example.com.evil.example/a", "/a"),
        ("https://evil.example/https://app.example.com/a", "/a"), ("https://app.example.com", "/a"),
        ("https://user@app.example.com/a", "/a"), ("https://user:pw@app.example.com/a", "/a"),
        ("https://evil.example@app.example.com/a", "/a"), ("https://app.example.com@evil.example/a", "/a"),
        ("https://app.example.com%2Fa", "/a"), ("https://app.example.com\\a", "/a"), ("//app.example.com/a", "/a"),
        ("/a", "/a"), ("a", "/a"), ("", "/"), ("https://", "/"), ("https:///a", "/a"),
        ("https:/app.example.com/a", "/a"),
        ("https:app.example.com/a", "/a"), (" https://app.example.com/a", "/a"), ("https://app.example.com /a", "/a"),
        ("ftp://app.example.com/a", "/a"), ("urn:a", "/a"), ("https://app.example.com/a/b", "/a%252Fb"),
        ("https://app.example.com/a/../b", "/a/b"), ("https://app.example.com/a//b", "/a/b"),
        ("https://app.example.com/a?b", "/a%3Fb"), ("https://app.example.com/a;b", "/a"),
        ("https://app.example.com/a+b", "/a%20b"), ("https://app.example.com/%E4", "/%C3%A4"),
        ("https://аpp.example.com/a", "/a"), ("https://app.example.com:0443/a", "/a"),
        ("https://app.example.com:443:443/a", "/a"),
    ])
    func isAnother(_ htu: String, _ path: String) {
        #expect(!self.matches(htu, path))
    }

    @Test func thePortOfTheConfiguredURLCounts() {
        let origin = "https://app.example.com:8443"
        #expect(self.matches("https://app.example.com:8443/a", "/a", origin: origin))
        #expect(!self.matches("https://app.example.com/a", "/a", origin: origin))
        #expect(!self.matches("https://app.example.com:443/a", "/a", origin: origin))
    }

    @Test func plainHTTPAndAddressesAreComparedAlike() {
        #expect(self.matches("HTTP://LOCALHOST:80/a", "/a", origin: "http://localhost"))
        #expect(!self.matches("http://localhost:443/a", "/a", origin: "http://localhost"))
        #expect(self.matches("http://[::1]:8080/a", "/a", origin: "http://[::1]:8080"))
        #expect(self.matches("https://[2001:DB8::1]:443/a", "/a", origin: "https://[2001:db8::1]"))
        #expect(!self.matches("https://[2001:db8::2]/a", "/a", origin: "https://[2001:db8::1]"))
    }

    private static let pieces = [
        "a", "B", "/", "//", "%2F", "%2f", ".", "..", "%2e", "%2E", "ä", "%C3%A4", "%c3%a4", "%", "%4", "%41", "%25",
        " ",
        "%20", "@", ":", "%40", ";", "\\", "%5C", "+", "~", "%7E", "日",
    ]

    private static func path(_ numbers: inout SeededNumbers, of pieces: [String] = Self.pieces) -> String {
        "/"
            + (0..<Int.random(in: 0...8, using: &numbers)).map { _ in
                pieces[Int.random(in: pieces.indices, using: &numbers)]
            }
            .joined()
    }

    @Test func everyPathEqualsItselfAndEqualityHasTwoSides() {
        var numbers = SeededNumbers(seed: 9449)
        for _ in 0..<5000 {
            let (one, other) = (Self.path(&numbers), Self.path(&numbers))
            #expect(self.matches(Bench.origin + one, one), "\(one)")
            // The fast path must not be the only one that finds it.
            #expect(self.matches("https://APP.example.com:443" + one, one), "\(one)")
            #expect(
                self.matches(Bench.origin + one, other) == self.matches(Bench.origin + other, one),
                "\(one) \(other)"
            )
            #expect(!self.matches("https://evil.example" + one, one), "\(one)")
        }
    }

    /// Auth0.Android (DPoPUtil.kt) builds `htu` by `java.net.URI` of several arguments: that decodes the path, then encodes
    /// `%` and what a URI cannot hold, but neither reserved characters nor what is not ASCII.
    @Test func aPathThatIsDecodedAndEncodedAsByJavaIsEqual() throws {
        var numbers = SeededNumbers(seed: 9449)
        let kept = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'():@&=+$,;/"
        // Without dot segments, which a path on its way through the gateway does not have, and without what is no URL.
        let left = [".", "..", "%2e", "%2E", "%", "%4", "ä", "日", " ", "\\"]
        let pieces = Self.pieces.filter { !left.contains($0) } + ["%3F", "%23", "%26", "%E6%97%A5"]
        for _ in 0..<5000 {
            let path = Self.path(&numbers, of: pieces)
            let decoded = try #require(PercentCoding.decoded(bytes(path), plusIsSpace: false))
            let text = try #require(String(validating: decoded, as: UTF8.self))
            let htu = text.map { $0.isASCII && !kept.contains($0) ? PercentCoding.encoded("\($0)") : "\($0)" }.joined()
            #expect(self.matches(Bench.origin + htu, path), "\(path) \(htu)")
        }
    }
}
