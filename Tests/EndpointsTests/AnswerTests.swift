import Endpoints
import Pages
import Testing
import Vocabulary

@Suite("Answers")
struct AnswerTests {
    private func value(_ name: String, _ response: EndpointResponse) -> String? {
        let values = response.fields.filter { $0.name == name }
        return values.count == 1 ? values[0].value : nil
    }

    @Test("No answer may be stored or sniffed")
    func caching() {
        let answers: [EndpointResponse] = [
            .json(200, [:]), .problem(.requestCrossSite, requestID: "r1"), .problem(.storeUnavailable, requestID: nil),
            .html(200, "", styleDigest: nil), .seeOther("/"), .noContent(),
        ]
        for answer in answers {
            #expect(self.value("cache-control", answer) == "no-store")
            #expect(self.value("x-content-type-options", answer) == "nosniff")
        }
    }

    @Test("A problem names its reason id, and an outage has a Retry-After")
    func problems() throws {
        let problem = EndpointResponse.problem(.requestCrossSite, requestID: "r1")
        let document = try #require(JSONText.decode(problem.body))
        #expect(document["reason"]?.string == "request.cross_site")
        #expect(document["status"] == 403 && problem.status == 403)
        #expect(document["title"] == "Forbidden" && document["type"] == "about:blank")
        #expect(document["request_id"] == "r1")
        #expect(problem.reason == .requestCrossSite)
        #expect(self.value("content-type", problem) == "application/problem+json")
        let outage = EndpointResponse.problem(.storeUnavailable, requestID: nil)
        #expect(outage.status == 503)
        #expect(self.value("retry-after", outage) == "1")
    }

    @Test("Pages cannot be framed and run no script")
    func pages() throws {
        let page = EndpointResponse.html(200, "<p>", styleDigest: "abc=")
        #expect(self.value("x-frame-options", page) == "DENY")
        let policy = try #require(self.value("content-security-policy", page))
        #expect(policy == "default-src 'none'; style-src 'sha256-abc='; base-uri 'none'; frame-ancestors 'none'")
    }

    @Test("A redirect is 303 and sends no referrer")
    func redirects() {
        let redirect = EndpointResponse.seeOther("/x", fields: [("set-cookie", "a=b")])
        #expect(redirect.status == 303)
        #expect(self.value("location", redirect) == "/x")
        #expect(self.value("referrer-policy", redirect) == "no-referrer")
        #expect(self.value("set-cookie", redirect) == "a=b")
    }

    @Test("Text in a page cannot become markup")
    func escaping() {
        #expect(HTMLText.escaped(#"<a href="x" title='y'>&"#) == "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;")
    }

    @Test(
        "Only a request that the browser attributes to a page of this host counts as same origin",
        arguments: [
            ([], false),
            ([("origin", "https://app.example.com")], true),
            ([("origin", "https://app.example.com.evil.example")], false),
            ([("origin", "https://evilapp.example.com")], false),
            ([("origin", "http://app.example.com")], false),
            ([("origin", "https://app.example.com:8443")], false),
            ([("origin", "null")], false),
            ([("origin", "https://App.example.com:443/")], true),
            ([("sec-fetch-site", "same-origin"), ("origin", "HTTPS://app.example.com")], true),
            ([("origin", "https://app.example.com https://app.example.com")], false),
            ([("sec-fetch-site", "same-origin")], true),
            ([("sec-fetch-site", "same-site")], false),
            ([("sec-fetch-site", "cross-site")], false),
            ([("sec-fetch-site", "none")], false),
            ([("sec-fetch-site", "same-origin"), ("origin", "https://app.example.com")], true),
            ([("sec-fetch-site", "same-origin"), ("origin", "null")], true),
            ([("sec-fetch-site", "same-origin"), ("origin", "https://evil.example")], false),
            ([("sec-fetch-site", "cross-site"), ("origin", "https://app.example.com")], false),
            ([("origin", "https://app.example.com"), ("origin", "https://app.example.com")], false),
            ([("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")], false),
        ] as [([(String, String)], Bool)]
    )
    func sameOrigin(fields: [(String, String)], isProven: Bool) throws {
        // A repeated field is refused before.
        let request = try? request(fields: fields.map { (name: $0.0, value: $0.1) })
        #expect((request.map(SameOrigin.isProven) ?? false) == isProven)
    }
}
