import Endpoints
import Pages
import Testing

@Suite("The design of the pages")
struct PageDesignTests {
    private static let svg = Array("<svg xmlns='http://www.w3.org/2000/svg'></svg>".utf8)
    private static let page = WebPage(.login, title: "A & <b>", content: "<p>text</p>")

    private func value(_ name: String, _ response: EndpointResponse) -> String? {
        response.fields.first { $0.name == name }?.value
    }

    @Test("Name, logo, colour and link for help are in the page, escaped; its policy allows only embedded images")
    func brand() throws {
        let plain = EndpointResponse.page(200, Self.page, by: PageDesign.included.writer(0))
        #expect(self.value("content-security-policy", plain)?.contains("; img-src data:;") == true)
        #expect(!String(decoding: plain.body, as: UTF8.self).contains("class=\"brand\""))
        let design = PageDesign(
            name: "Müller & <Söhne>",
            logo: PageDesign.Logo(Self.svg),
            colour: PageDesign.Colour("#ffCC00"),
            supportURL: "https://example.com/?a=1&b=2"
        )
        let response = EndpointResponse.page(200, Self.page, by: design.writer(accepting: "de"))
        let html = String(decoding: response.body, as: UTF8.self)
        #expect(html.contains("<html lang=\"de\" dir=\"ltr\">") && self.value("content-language", response) == "de")
        #expect(html.contains("<img src=\"data:image/svg+xml;base64,PHN2"))
        #expect(html.contains("alt=\"Müller &amp; &lt;Söhne&gt;\""))
        #expect(html.contains("--accent:#ffCC00;--deep:#ffCC00;--on:#000"))
        #expect(html.contains("<a href=\"https://example.com/?a=1&amp;b=2\" target=\"_top\">Hilfe</a>"))
        let policy = try #require(self.value("content-security-policy", response))
        #expect(policy.contains("; img-src data:; base-uri"))
        #expect(policy.contains("style-src 'sha256-\(design.writer(0).styleDigest)'"))
        #expect(design.writer(0).styleDigest != PageDesign.included.writer(0).styleDigest)
    }

    @Test(
        "The text on a colour is black or white, whichever is read better",
        arguments: [
            ("#000000", "#fff"), ("#ffffff", "#000"), ("#1f5fbf", "#fff"), ("#ffcc00", "#000"), ("#757575", "#fff"),
            ("#767676", "#000"),
            ("#808080", "#000"), ("#ff0000", "#000"), ("#0000FF", "#fff"),
        ]
    )
    func ink(colour: String, ink: String) {
        let writer = PageDesign(colour: PageDesign.Colour(colour)).writer(0)
        #expect(writer.html(Self.page).contains("--on:\(ink)}"))
    }

    @Test("What is no colour is none", arguments: ["", "#fff", "1f5fbf", "#1f5fbg", "#1f5fbf;", "#+1f5fb", "red"])
    func noColour(text: String) {
        #expect(PageDesign.Colour(text) == nil)
    }

    @Test("An image is known by its first bytes, not by its name")
    func images() {
        let known: [[UInt8]] = [
            [0x89, 0x50, 0x4E, 0x47, 0x0D], [0xFF, 0xD8, 0xFF, 0xE0], Array("GIF89a".utf8),
            Array("RIFF1234WEBPVP8".utf8), Self.svg, Array("<?xml version='1.0'?>".utf8),
        ]
        for bytes in known { #expect(PageDesign.Logo(bytes) != nil) }
        for bytes in [[], Array("<html>".utf8), Array("RIFF1234WAVE".utf8), [0x89, 0x50]] {
            #expect(PageDesign.Logo(bytes) == nil)
        }
    }

    @Test("The window's title has the site's name, or the host where there is none")
    func windowTitle() {
        func title(_ design: PageDesign, _ host: String?) -> Substring? {
            design.writer(0).on(host).html(Self.page).firstMatch(of: /<title>(.*)<\/title>/)?.1
        }
        #expect(title(PageDesign(name: "N & M"), "app.example.com") == "A &amp; &lt;b&gt; - N &amp; M")
        #expect(title(.included, "app.example.com") == "A &amp; &lt;b&gt; - app.example.com")
        #expect(title(.included, nil) == "A &amp; &lt;b&gt;")
    }

    @Test("The icon is the operator's, or a door in the colour; no page asks the app for one")
    func icon() {
        func icon(_ design: PageDesign) -> Substring? {
            design.writer(0).html(Self.page).firstMatch(of: /<link rel="icon" href="(data:image\/[^"]+)">/)?.1
        }
        #expect(icon(PageDesign(icon: PageDesign.Logo(Self.svg)))?.hasPrefix("data:image/svg+xml;base64,PHN2") == true)
        #expect(icon(.included) != nil)
        #expect(icon(.included) != icon(PageDesign(colour: PageDesign.Colour("#ffcc00"))))
    }

    @Test("A page in Arabic goes from right to left, with or without a template")
    func direction() throws {
        let arabic = [PageLanguage(tag: "ar", texts: [:])]
        let plain = PageDesign(languages: arabic).writer(0).html(Self.page)
        #expect(plain.contains("<html lang=\"ar\" dir=\"rtl\">"))
        let template = try PageTemplate(
            "<html lang={{language}} dir={{direction}}>{{style}}{{window_title}}{{content}}"
        )
        let own = PageDesign(templates: [.page: template], languages: arabic).writer(0).html(Self.page)
        #expect(own.hasPrefix("<html lang=ar dir=rtl>"))
    }

    @Test("A page has the template of its kind, else that of all, else the included one")
    func templates() throws {
        func template(_ mark: String) throws -> PageTemplate {
            try PageTemplate(
                "<html lang=\"{{language}}\">{{ style }}<title>{{title}}</title>\(mark) {{name}}{{content}}{{support}}{{brand}}"
            )
        }
        let design = PageDesign(
            name: "N & M",
            templates: [.login: try template("mine"), .page: try template("all")],
            style: "h1{color:red}"
        )
        let login = design.writer(0).html(Self.page)
        #expect(login.contains("<title>A &amp; &lt;b&gt;</title>mine N &amp; M<p>text</p>"))
        #expect(login.contains("h1{color:red}</style>"))
        #expect(design.writer(0).html(WebPage(.error, title: "t", content: "")).contains("all N &amp; M"))
        let other = PageDesign(templates: [.login: try template("mine")]).writer(0)
        #expect(
            other.html(WebPage(.error, title: "t", content: "")).hasPrefix(
                "<!DOCTYPE html>\n<html lang=\"en\" dir=\"ltr\">\n<head>"
            )
        )
    }

    @Test(
        "A template that could not work is refused with the reason",
        arguments: [
            ("{{language}}{{style}}", "no {{content}}"), ("{{language}}{{content}}", "no {{style}}"),
            ("{{content}}{{style}}", "no {{language}}"),
            ("{{language}}{{style}}{{content}}{{content}}", "more than one {{content}}"),
            ("{{language}}{{style}}{{content}}{{x}}", "the unknown placeholder {{x}}"),
            ("{{language}}{{style}}{{content}}{{", "{{ without }}"),
            ("{{language}}{{style}}{{content}}<SCRIPT>", "<script>, which the pages' policy forbids"),
            ("{{language}}{{style}}{{content}}<style>", "<style>, which the pages' policy forbids"),
        ]
    )
    func faults(text: String, sentence: String) {
        #expect(throws: PageTemplate.Fault(sentence: sentence)) { try PageTemplate(text) }
    }
}
