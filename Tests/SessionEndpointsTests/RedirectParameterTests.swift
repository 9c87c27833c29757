import EndpointBench
import Endpoints
import Pages
import StoreBench
import TestSupport
import Testing
import Vocabulary

/// Every parameter that says where a browser goes afterwards, with the inputs of the Web Platform Tests.
@Suite(
    "Redirect parameters",
    .enabled(if: TestData.isExpected("wpt_urltestdata.json"), TestData.absence)
)
struct RedirectParameterTests {
    private static let parameter = "session_transfer_token"

    /// Inputs as they are and as paths; those that are accepted, and some of the others.
    private func inputs() throws -> [String] {
        try WHATWG.corpus().enumerated().flatMap { index, entry in
            WHATWG.variants(of: entry.input).filter { index % 16 == 0 || ReturnTo.sanitized($0) != nil }
        }
    }

    @Test("The one rule for all parameters accepts only what stays on the host, and never leads back to the gateway")
    func rule() throws {
        var accepted = 0
        for entry in try WHATWG.corpus() {
            for input in WHATWG.variants(of: entry.input) {
                let page = ReturnTo.page([input], without: Self.parameter)
                #expect(page.hasPrefix("/") && WHATWG.staysOnHost(page), "\(input)")
                if page != "/" { accepted += 1 }
                #expect(ReturnTo.page([input, input], without: Self.parameter) == "/")
            }
        }
        #expect(accepted > 100)
        for own in ["/.sallyport/login", "/.sallyport/callback?code=x", "/.sallyport/", "/.sallyport/x/y"] {
            #expect(ReturnTo.page([own], without: Self.parameter) == "/")
        }
        let sessions = "/.sallyport/sessions"
        for own in ["\(sessions)/", "\(sessions)/x", "\(sessions)?x", "\(sessions)#x", "/x\(sessions)2"] {
            #expect((ReturnTo.page([own], without: Self.parameter) == "/") == own.hasPrefix("/.s"), "\(own)")
        }
        for own in [sessions, "/oauth2\(sessions)"] {
            #expect(ReturnTo.page([own], without: Self.parameter) == own)
        }
        #expect(ReturnTo.page([], without: Self.parameter) == "/")
        #expect(ReturnTo.page(["/.sallyports"], without: Self.parameter) == "/.sallyports")
    }

    @Test("Password sign-in and sign-out redirect to the host's own pages only")
    func passwords() async throws {
        let gateway = try Gateway()
        let signedIn = Gateway.cookies([try await gateway.signInBrowser()])
        for input in try self.inputs() {
            let form = "return_to=\(PercentCoding.encoded(input))"
            let answer = try await gateway.post("/.sallyport/logout", form)
            let location = try #require(answer.value("location"))
            #expect(
                location == ReturnTo.page([input], without: Self.parameter) && WHATWG.staysOnHost(location),
                "\(input)"
            )
            // Nobody is asked to sign out who is not signed in.
            for (path, fields) in [("/.sallyport/login", []), ("/.sallyport/logout", signedIn)] {
                let page = try await gateway.send("GET", path, query: [("return_to", input)], fields: fields)
                let value = page.text.firstMatch(of: /name="return_to" value="([^"]*)"/).map { String($0.1) }
                #expect(value == HTMLText.escaped(location), "\(path) \(input)")
            }
        }
    }

    @Test("Sign-in at a provider leads back to the host's own pages only")
    func provider() async throws {
        var browser = try SigningBrowser()
        for input in try self.inputs() {
            let id = try await browser.begin(("return_to", input), ("prompt", "login"))
            let location = try #require(try await browser.comeBack(id).value("location"))
            #expect(
                location == ReturnTo.page([input], without: Self.parameter) && WHATWG.staysOnHost(location),
                "\(input)"
            )
            browser.gateway.time.advance(by: .seconds(1))
        }
    }

    @Test("A ticket leads back to a page of the host that asked for it only")
    func tickets() async throws {
        let bench = try HostBench()
        var browser = HostBrowser(bench)
        _ = try await browser.submit(try await browser.visit(HostBench.a))
        for input in try self.inputs() {
            let encoded = PercentCoding.encoded(input)
            let arrival = try await browser.open("https://\(HostBench.b)/.sallyport/login?return_to=\(encoded)")
            let page = ReturnTo.page([input], without: Self.parameter)
            #expect(arrival.app == "https://\(HostBench.b)\(page)", "\(input): \(arrival)")
            bench.time.advance(by: .seconds(3))
        }
    }

    @Test("The page of a failed sign-in links to the sign-in page only")
    func links() async throws {
        var browser = try SigningBrowser()
        browser.provider.leave()
        for input in try self.inputs() {
            let answer = try await browser.load("/.sallyport/login", [("return_to", input)])
            let link = try #require(answer.signIn)
            #expect(link.hasPrefix("/.sallyport/login?return_to=/") && WHATWG.staysOnHost(link), "\(input)")
            #expect(link.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"<>\"'&#\\".utf8.contains($0) }, "\(link)")
        }
    }
}
