import Cryptography
import Endpoints
import Pages
import Testing
import Vocabulary

@Suite("Pages")
struct WebPageTests {
    private static let writer = PageDesign.included.writer(0)

    private func value(_ name: String, _ response: EndpointResponse) -> String? {
        let values = response.fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    @Test("The policy allows the page's one style and nothing else")
    func policy() throws {
        let page = EndpointResponse.page(200, WebPage(.page, title: "A & <b>", content: "<p>text</p>"), by: Self.writer)
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(
            html.contains("<title>A &amp; &lt;b&gt;</title>")
                && html.contains("<h1>A &amp; &lt;b&gt;</h1>\n<p>text</p>")
        )
        let parts = html.split(separator: "<style>")
        let style = try #require(parts.last?.split(separator: "</style>").first)
        let digest = SHA256.digest(Array(style.utf8)).base64URL.replacing("-", with: "+").replacing("_", with: "/")
        let policy = try #require(self.value("content-security-policy", page))
        #expect(
            parts.count == 2
                && policy
                    == "default-src 'none'; style-src 'sha256-\(digest)='; img-src data:; base-uri 'none'; frame-ancestors 'none'"
        )
        #expect(self.value("x-frame-options", page) == "DENY" && self.value("content-language", page) == "en")
        #expect(style.contains("prefers-color-scheme:dark") && style.contains("color-scheme:light dark"))
        #expect(!style.contains("url(") && !style.contains("@import"))
    }

    @Test("The policy allows the page's one script, whatever its attributes, which are escaped")
    func script() throws {
        let script = WebPage.Script("let a = 1 < 2", data: [("to", #"/x?a="<b>'&c"#)])
        let page = EndpointResponse.page(
            200,
            WebPage(.page, title: "A", content: "<p>text</p>", script: script),
            by: Self.writer
        )
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(
            html.contains(
                #"<p>text</p>"# + "\n" + #"<script data-to="/x?a=&quot;&lt;b&gt;&#39;&amp;c">let a = 1 < 2</script>"#
            )
        )
        let digest = SHA256.digest(Array("let a = 1 < 2".utf8)).base64URL.replacing("-", with: "+")
            .replacing("_", with: "/")
        #expect(self.value("content-security-policy", page)?.contains("; script-src 'sha256-\(digest)='; img") == true)
    }

    @Test("A page that may be framed can be framed by its own origin only")
    func framing() throws {
        let page = EndpointResponse.page(
            502,
            WebPage(.page, title: "A", content: ""),
            by: Self.writer,
            framing: .ownOrigin
        )
        #expect(self.value("content-security-policy", page)?.hasSuffix("; frame-ancestors 'self'") == true)
        #expect(self.value("x-frame-options", page) == "SAMEORIGIN")
    }

    @Test(
        "The link to the sign-in page contains the whole return path, and no part of it becomes another parameter"
    )
    func signInPath() {
        #expect(
            SignInPath.leading(to: "/a%20?b=1&prompt=none#x".utf8, demanding: SignInDemand())
                == "/.sallyport/login?return_to=/a%2520%3Fb%3D1%26prompt%3Dnone%23x"
        )
        #expect(
            SignInPath.leading(to: "/".utf8, demanding: SignInDemand(isAgain: true))
                == "/.sallyport/login?return_to=/&prompt=login"
        )
        let demand = SignInDemand(isAgain: true, aal: .aal2, maxAge: .milliseconds(90_500))
        let path = SignInPath.leading(to: "/a".utf8, demanding: demand)
        #expect(path == "/.sallyport/login?return_to=/a&prompt=login&aal=aal2&max_age=90")
        let read = SignInDemand(FormText.pairs(path.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
        #expect(read == SignInDemand(isAgain: true, aal: .aal2, maxAge: .seconds(90)))
        let hint = SignInDemand(loginHint: "a&prompt=login+é@x")
        let hinting = SignInPath.leading(to: "/".utf8, demanding: hint)
        #expect(hinting == "/.sallyport/login?return_to=/&login_hint=a%26prompt%3Dlogin%2B%C3%A9%40x")
        #expect(SignInDemand(FormText.pairs(hinting.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())) == hint)
    }
}
