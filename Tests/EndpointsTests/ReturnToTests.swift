import Endpoints
import TestSupport
import Testing
import Vocabulary

@Suite("Return to")
struct ReturnToTests {
    @Test(
        "A path on the same host passes unchanged",
        arguments: [
            "/", "/foo/", "/a//b", "/a%2Fb", "/?q=1", "/report?from=2026-01-01&to=//elsewhere", "/@user", "/a:b@c",
            "/caf%C3%A9", "/100%25", "/saml?SAMLRequest=fZ%2B%0D%0A&RelayState=https%3A%2F%2Fsp.example%2F", "/a|b{c}",
            "/..a/b..", "/.well-known/x", "/x?next=%5C%5Cevil&up=../..", "/job/feature%252Fx/", "/a%5Cb",
            "/;jsessionid=1",
        ]
    )
    func samePath(path: String) {
        #expect(ReturnTo.sanitized(path) == path)
    }

    @Test(
        "What a URL cannot have is encoded, and what has been encoded stays as it is",
        arguments: [
            ("/a b", "/a%20b"), ("/caf\u{E9}", "/caf%C3%A9"),
            ("/caf\u{E9}/\u{1F600}?q=\u{FC} b", "/caf%C3%A9/%F0%9F%98%80?q=%C3%BC%20b"),
            ("/a+b?c+d", "/a+b?c+d"), ("/x#y", "/x#y"), ("/#/orders/7?tab=a", "/#/orders/7?tab=a"),
            ("/x?a=b#\u{FC} #z", "/x?a=b#%C3%BC%20%23z"), ("/x##", "/x#%23"), ("/100%", "/100%25"), ("/%2", "/%252"),
            ("/%zz", "/%25zz"), ("/x?q=%", "/x?q=%25"), ("/\u{3002}evil.example", "/%E3%80%82evil.example"),
            ("/\u{FF0F}evil.example", "/%EF%BC%8Fevil.example"), ("/a%20b", "/a%20b"), ("/ ", "/%20"),
            ("/\u{A0}x", "/%C2%A0x"), ("/\u{202E}x", "/%E2%80%AEx"),
        ]
    )
    func encoded(text: String, expected: String) {
        #expect(ReturnTo.sanitized(text) == expected)
        #expect(ReturnTo.sanitized(expected) == expected)
    }

    @Test(
        "A URL of the host is the path there, however its origin is written; any other URL leads to the start",
        arguments: [
            ("https://app.example.com/x?y=1#z", "/x?y=1#z"), ("HTTPS://App.Example.COM:443/x", "/x"),
            ("https://app.example.com", "/"), ("https://app.example.com?q", "/?q"),
            ("https://app.example.com#/a", "/#/a"),
            ("https://app.example.com/a b", "/a%20b"), ("/x", "/x"),
            ("http://app.example.com/x", "/"), ("https://app.example.com:8443/x", "/"), ("https://evil.example/x", "/"),
            ("https://app.example.com@evil.example/x", "/"), ("https://app.example.com\\@evil.example/x", "/"),
            ("https://app.example.com//evil.example", "/"), ("https://app.example.com/\\evil.example", "/"),
            ("https://app.example.com.evil.example/x", "/"), ("https:///x", "/"), ("https:app.example.com/x", "/"),
            ("ftp://app.example.com/x", "/"), ("javascript://app.example.com/%0aalert(1)", "/"),
            ("https://app.example.com/.sallyport/login", "/"), ("https://app.example.com\u{3002}evil.example/x", "/"),
            ("https://app.example.com:0443/x", "/"), (" https://app.example.com/x", "/"),
        ]
    )
    func ownURL(text: String, expected: String) {
        #expect(ReturnTo.page([text], of: "https://app.example.com", without: "session_transfer_token") == expected)
    }

    @Test("A fragment that contains the parameter is removed, and the query before it is read as without a fragment")
    func fragments() {
        for (target, expected) in [
            ("/x?a=1#session_transfer_token=t", "/x?a=1"), ("/x#/y?session%5Ftransfer_token=t", "/x"),
            ("/x?session_transfer_token=t&a=1#y?b", "/x?a=1#y?b"), ("/x#y?a=1&b=2", "/x#y?a=1&b=2"),
        ] {
            #expect(ReturnTo.sanitized(target, without: "session_transfer_token") == expected)
        }
    }

    /// CVE-2022-23527, CVE-2020-4037, CVE-2020-5233, CVE-2020-11053, CVE-2024-52003, CVE-2021-29651.
    @Test(
        "What could lead to another host is refused",
        arguments: [
            "", "foo", "//evil.example", "///evil.example", "////evil.example", "/\\evil.example", "\\\\evil.example",
            "\\/evil.example", "/%09/evil.example", "/\t/evil.example", "/%0a/evil.example", "/\n/evil.example",
            "/\r\n/evil.example", "https:evil.example", "https:/evil.example", "https://evil.example",
            "http://app.example.com/", "https://app.example.com/", "https://app.example.com@evil.example/",
            "https://evil.example\\@app.example.com", "javascript:alert(1)", "data:text/html,x", " //evil.example",
            "\t//evil.example", "/./\\evil.example", "/../../\\evil.example", "/.//evil.example", "/..//evil.example",
            "/a/../..//evil.example", "/%2e%2e//evil.example", "/%2E/%2Fevil.example", "/..;/x", "/\u{0B}/evil.example",
            "\u{0B}//evil.example", "/%0d%0aSet-Cookie:a=b", "/x\r\nSet-Cookie: a=b", "/\u{0}", "/%5Cevil.example",
            "/%5c%5cevil.example", "/%2Fevil.example", "/%2fevil.example", "/%252Fevil.example", "/%255Cevil.example",
            "/%25252Fevil.example", "/a%5C..%5C%5Cevil.example", "/a%255C%2e%2e%255Cb", "/%2F%5Cevil.example",
            "/\u{2028}", "/\u{2029}x", "/\u{85}", "/x?q=\u{9F}", "/x#\n", "/x#a\\b",
            "/x\u{FFFD}",
            "/%%32%66evil.example", "/\u{FF}/../..//evil.example", "#x", "?x", "evil.example", ".evil.example",
            "@evil.example", "/\u{7F}x", "/a\\b",
            "/" + String(repeating: "a", count: 8192), "/" + String(repeating: "\u{E9}", count: 4000),
        ]
    )
    func otherHost(text: String) {
        #expect(ReturnTo.sanitized(text) == nil)
    }

    @Test(
        "Only the named parameter is removed, in whatever spelling and however deep",
        arguments: [
            ("/x?session_transfer_token=t", "/x"), ("/x?a=b&session_transfer_token=t&c=%2F", "/x?a=b&c=%2F"),
            ("/x?session%5Ftransfer_token=t&a", "/x?a"), ("/x?%73ession_transfer_token%3Dt&a", "/x?a"),
            ("/x?session_transfer_token=t&session_transfer_token=u", "/x"),
            ("/x?next=/y?session_transfer_token=t", "/x"), ("/x?a=1&next=%2Fy%3Fsession_transfer_token%3Dt", "/x?a=1"),
            ("/x?next=%252Fy%253Fb%253D1%2526session%25255Ftransfer_token%253Dt&a=1", "/x?a=1"),
            ("/x?next=%zz%2Fy%3Fsession_transfer_token%3Dt", "/x"),
            ("/x?next=/y%3Fsession%%35Ftransfer_token%3Dt", "/x"),
            ("/x?n=" + String(repeating: "%25", count: 1) + "2525252573", "/x"),
            ("/x?a=b&&session_transfer_token=t&", "/x?a=b&&"),
            ("/x?SAMLRequest=fZ%2B%3d&RelayState=https%3A%2F%2Fsp.example%2F", nil), ("/x", nil), ("/x?", nil),
            ("/x?q=session_transfer_token", nil), ("/x?my_session_transfer_token=t", nil),
            ("/x?session_transfer_tokens=t", nil), ("/x?a=100%25&b=%zz&c=%", nil), ("/x?a=%2525", nil),
        ] as [(String, String?)]
    )
    func withoutTheParameter(target: String, expected: String?) {
        #expect(ReturnTo.removing("session_transfer_token", from: target) == expected ?? target)
    }

    @Test(
        "A path that contains the parameter is refused",
        arguments: [
            "/x;session_transfer_token=t", "/go/%2Fy%3Fsession_transfer_token=t", "/x%3Fsession%5Ftransfer_token%3Dt",
        ]
    )
    func pathWithTheParameter(target: String) {
        #expect(ReturnTo.removing("session_transfer_token", from: target) == nil)
        #expect(ReturnTo.sanitized(target, without: "session_transfer_token") == nil)
    }

    @Test(
        "Every accepted input of the WHATWG corpus stays on the host",
        .enabled(if: TestData.isExpected("wpt_urltestdata.json"), TestData.absence)
    )
    func corpus() throws {
        let entries = try WHATWG.corpus()
        #expect(entries.count > 800)
        var accepted = 0
        for entry in entries {
            let input = entry.input
            // The corpus gives the target of each input from its own base.
            if ReturnTo.sanitized(input) != nil {
                accepted += 1
                #expect(WHATWG.staysOnHost(input), "\(input)")
                if let base = entry.base, let host = WHATWG.host(ofHTTP: base) {
                    #expect(entry.host == host, "\(input) from \(base)")
                }
            }
            // Without a base only complete URLs parse, and none of those is a path.
            if entry.base == nil, !entry.isFailure { #expect(ReturnTo.sanitized(input) == nil, "\(input)") }
            for variant in WHATWG.variants(of: input).dropFirst() {
                guard let path = ReturnTo.sanitized(variant) else { continue }
                accepted += 1
                #expect(ReturnTo.sanitized(path) == path && path.utf8.allSatisfy { (0x21...0x7E).contains($0) })
                #expect(WHATWG.staysOnHost(path) && WHATWG.staysOnHost(variant), "\(variant)")
                // The same holds if another party decodes it once more.
                if let decoded = PercentCoding.decoded(Array(path.utf8), plusIsSpace: false),
                    let text = String(validating: decoded, as: UTF8.self)
                {
                    #expect(WHATWG.staysOnHost(text), "\(variant)")
                }
            }
        }
        #expect(accepted > 100, "the corpus must not pass because everything is refused")
    }
}
