import RequestPath
import Testing

@Suite("Pages for people, problem documents for programs")
struct NavigationTests {
    private static let chromium =
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

    @Test(
        "A browser that loads a page or posts a form gets pages; scripts and programs do not",
        arguments: [
            ("GET", ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"], true),
            ("HEAD", ["Sec-Fetch-Mode: navigate"], true),
            ("POST", ["Sec-Fetch-Mode: navigate", "Content-Type: application/x-www-form-urlencoded"], true),
            ("GET", ["Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"], true),
            // Sec-Fetch-Mode decides, whatever Accept says.
            ("GET", ["Sec-Fetch-Mode: cors", chromium], false),
            ("POST", ["Sec-Fetch-Mode: same-origin", chromium], false),
            ("GET", ["Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image", chromium], false),
            ("GET", ["Sec-Fetch-Mode: websocket"], false),
            // Without Sec-Fetch-Mode: a browser on plain http, or an old one.
            ("GET", [chromium], true), ("POST", [chromium], true), ("GET", ["Accept: TEXT/HTML;level=1"], true),
            ("GET", [], false), ("GET", ["Accept: */*"], false), ("POST", ["Accept: */*"], false),
            ("GET", ["Accept: application/json, text/plain, */*"], false),
            ("GET", ["Accept: application/json, text/html;q=0.9"], false),
            ("GET", ["Accept: text/html, application/problem+json"], false),
            // Scripts that ask for HTML name themselves.
            ("GET", [chromium, "X-Requested-With: XMLHttpRequest"], false),
            ("POST", [chromium, "x-requested-with: xmlhttprequest"], false),
            ("GET", ["Accept: text/html", "HX-Request: true"], false),
            ("GET", ["HX-Boosted: true", "HX-Request: true", chromium], false),
            ("GET", ["Accept: text/html, application/xhtml+xml", "Turbo-Frame: message_1"], false),
            ("GET", ["Accept: text/html, application/xhtml+xml", "X-Turbo-Request-Id: 1-2-3"], false),
            ("GET", ["Accept: text/html, */*; q=0.01", "X-PJAX: true", "X-PJAX-Container: #main"], false),
            // Android's WebView sends the name of its app's package with each page, and may be beside a script's field.
            ("GET", [chromium, "X-Requested-With: com.example.app"], true),
            ("GET", [chromium, "X-Requested-With: com.example.XMLHttpRequest"], true),
            ("GET", [chromium, "X-Requested-With:"], true), ("GET", [chromium, "HX-Request: false"], true),
            ("GET", [chromium, "X-Requested-With: com.example.app", "HX-Request: true"], false),
            ("GET", [chromium, "X-Requested-With: com.example.app", "X-Requested-With: XMLHttpRequest"], false),
            ("GET", [chromium, "Turbo-Frame:"], true), ("GET", [chromium, "X-Fetch: true"], true),
            // Sec-Fetch-Mode decides, whatever a library says.
            ("GET", ["Sec-Fetch-Mode: navigate", "X-Requested-With: XMLHttpRequest"], true),
            ("GET", ["Accept: text/htmlx"], false), ("GET", ["Accept: text/*"], false),
            // Browsers send these only for scripts.
            ("PUT", ["Sec-Fetch-Mode: navigate"], false), ("DELETE", [chromium], false), ("OPTIONS", [chromium], false),
            ("PATCH", [chromium], false), ("PROPFIND", [chromium], false),
            ("GET", [chromium, "Connection: upgrade", "Upgrade: websocket"], false),
        ] as [(String, [String], Bool)]
    )
    func wantsPage(method: String, fields: [String], expected: Bool) throws {
        #expect(try withHead(method, fields) { Navigation.wantsPage($0, $1) } == expected)
    }

    @Test(
        "For a head that is too large, its complete lines decide",
        arguments: [
            ("GET / HTTP/1.1\r\nAccept: text/html\r\nCookie: aaa", true),
            ("GET / HTTP/1.1\r\nSEC-FETCH-MODE:navigate\r\nCookie: aaa", true),
            ("GET / HTTP/1.1\r\nAccept: text/html\r\nSec-Fetch-Mode: cors\r\nCookie: aaa", false),
            ("GET / HTTP/1.1\r\nAccept: text/html\r\nHX-Request: true\r\nCookie: aaa", false),
            ("GET / HTTP/1.1\r\nX-Requested-With: XMLHttpRequest\r\nAccept: text/html\r\nCookie: aaa", false),
            ("GET / HTTP/1.1\r\nX-Requested-With: com.example\r\nAccept: text/html\r\nCookie: aaa", true),
            ("GET / HTTP/1.1\r\nAccept: */*\r\nCookie: aaa", false), ("GET / HTTP/1.1\r\nCookie: aaa", false),
            ("GET /?Accept: text/html", false), ("", false), ("\r\n\r\n:\r\n", false),
        ] as [(String, Bool)]
    )
    func seemsToWantPage(text: String, expected: Bool) {
        #expect(Array(text.utf8).withUnsafeBufferPointer { Navigation.seemsToWantPage($0) } == expected)
    }
}
