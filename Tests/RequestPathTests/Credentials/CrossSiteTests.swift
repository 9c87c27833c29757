import RequestPath
import Testing

@Suite("Requests that another site may have caused")
struct CrossSiteTests {
    @Test(
        "An unsafe request with a cookie is accepted only from the own origin or from a trusted one",
        arguments: [
            ("GET", ["Sec-Fetch-Site: cross-site"], false), ("HEAD", [], false), ("OPTIONS", [], false),
            ("POST", [], true), ("PUT", [], true), ("DELETE", [], true), ("PATCH", [], true), ("PROPFIND", [], true),
            ("POST", ["Sec-Fetch-Site: same-origin"], false), ("POST", ["Sec-Fetch-Site: none"], false),
            ("POST", ["Sec-Fetch-Site: SAME-ORIGIN"], false), ("POST", ["Sec-Fetch-Site: same-site"], true),
            ("POST", ["Sec-Fetch-Site: cross-site"], true), ("POST", ["Sec-Fetch-Site: "], true),
            ("POST", ["Origin: https://app.example.com"], false), ("POST", ["Origin: https://APP.example.com"], false),
            ("POST", ["Origin: https://app.example.com:443/"], false),
            ("DELETE", ["Origin: HTTPS://TRUSTED.example:443"], false),
            ("POST", ["Origin: https://app.example.com, https://app.example.com"], true),
            ("POST", ["Origin: https://app.example.com."], true),
            ("POST", ["Origin: https://app.example.com:8443"], true),
            ("POST", ["Origin: http://app.example.com"], true),
            ("POST", ["Origin: null"], true), ("POST", ["Origin: https://trusted.example"], false),
            ("POST", ["Origin: https://trusted.example.evil.example"], true),
            // Sec-Fetch-Site decides, except for trusted origins.
            ("POST", ["Sec-Fetch-Site: same-site", "Origin: https://app.example.com"], true),
            ("POST", ["Sec-Fetch-Site: cross-site", "Origin: https://trusted.example"], false),
            // A WebSocket is opened by GET, and CORS does not apply to it.
            ("GET", ["Connection: upgrade", "Upgrade: websocket"], true),
            ("GET", ["Connection: upgrade", "Upgrade: websocket", "Origin: https://app.example.com"], false),
            ("GET", ["Connection: upgrade", "Upgrade: websocket", "Origin: https://app.example.com:443"], false),
            ("GET", ["Connection: upgrade", "Upgrade: websocket", "Origin: https://evil.example"], true),
        ] as [(String, [String], Bool)]
    )
    func suspects(method: String, fields: [String], expected: Bool) throws {
        let isSuspect = try withHead(method, fields) {
            CrossSite.isSuspect(
                $0,
                $1,
                origin: Array("https://app.example.com".utf8),
                trusted: [Array("https://trusted.example".utf8)]
            )
        }
        #expect(isSuspect == expected)
    }

    @Test(
        "Only a page load by the user consumes a transfer token",
        arguments: [
            ("GET", [], true), ("GET", ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], true),
            ("GET", ["Sec-Fetch-Mode: NAVIGATE"], true), ("GET", ["Sec-Fetch-Dest: iframe"], false),
            ("GET", ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: frame"], false), ("HEAD", [], false),
            ("GET", ["Sec-Fetch-Mode: no-cors"], false), ("GET", ["Sec-Fetch-Dest: empty"], false),
            ("POST", ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], false), ("PROPFIND", [], false),
            ("GET", ["Sec-Purpose: prefetch"], false), ("GET", ["Purpose: prefetch"], false),
            ("GET", ["Connection: upgrade", "Upgrade: websocket"], false),
            ("GET", ["X-Requested-With: XMLHttpRequest"], false), ("GET", ["HX-Request: true"], false),
            ("GET", ["X-Requested-With: com.example.app"], true),
            ("GET", ["Sec-Fetch-Mode: navigate", "X-Requested-With: XMLHttpRequest"], true),
        ] as [(String, [String], Bool)]
    )
    func consuming(method: String, fields: [String], expected: Bool) throws {
        try withHead(method, fields) { head, base in
            #expect(Navigation.mayConsume(head, base) == expected)
            #expect(Navigation.isSpeculative(head) == fields.contains { $0.contains("urpose") })
        }
    }

    @Test(
        "A navigation is another origin's unless Sec-Fetch-Site says that it is the user's or the page's own, or is missing",
        arguments: [
            ("cross-site", true), ("Cross-Site", true), ("same-site", true), ("x", true), ("same-origin", false),
            ("none", false),
            ("", true),
        ]
    )
    func navigation(site: String, expected: Bool) throws {
        #expect(try withHead("GET", ["Sec-Fetch-Site: \(site)"]) { Navigation.isCrossSite($0, $1) } == expected)
        #expect(try withHead { Navigation.isCrossSite($0, $1) } == false)
    }
}
