import Foundation
import GatewayBench
import Testing

/// The table of advisories is complete and correct.
@Suite("Advisories", .blocking) struct AdvisoryTests {
    /// Every display name of a test in the Tests folder.
    private static func displayNames() throws -> Set<String> {
        let tests = Gateway.root.appending(path: "Tests")
        let files = FileManager.default.enumerator(atPath: tests.path)?.compactMap { $0 as? String } ?? []
        var names: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: tests.appending(path: file), encoding: .utf8)
            for match in text.matches(of: /@Test\(\s*"((?:[^"\\]|\\.)*)"/) {
                names.insert(String(match.1).replacing("\\\"", with: "\""))
            }
            for match in text.matches(of: /@Test[^\n]*func ([A-Za-z0-9_]+)\(/) { names.insert(String(match.1)) }
        }
        return names
    }

    @Test("Every advisory has a test that exists, or a reason")
    func table() throws {
        let names = try Self.displayNames()
        #expect(names.count > 300)
        for advisory in Advisory.table {
            #expect(advisory.tests.isEmpty == (advisory.reason != nil), "\(advisory.id)")
            for test in advisory.tests { #expect(names.contains(test), "\(advisory.id): no test is called: \(test)") }
        }
        #expect(Set(Advisory.table.map(\.id)).count == Advisory.table.count)
    }

    @Test("Every row of the threat model that applies to the request path, to sign-in and to tokens is in the table")
    func rows() {
        let ids = Set(Advisory.table.map(\.id))
        for number in [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
            30,
            31,
            32, 33, 34, 35, 36, 37, 38, 39, 40,
        ] {
            #expect(ids.contains("T\(number)"))
        }
    }

    @Test("The admin listener serves health, readiness and metrics and nothing else")
    func admin() throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.open(upstream: app.port)) { gateway throws in
            // The first is a list of the others.
            for path in ["/", "/healthz", "/readyz", "/metrics"] { #expect(try gateway.admin(path).status == 200) }
            for path in ["/debug/pprof/", "/debug/pprof/cmdline", "/config", "/metrics/x", "/api/v2/clients"] {
                #expect(try gateway.admin(path).status == 404, "\(path)")
            }
            // Another spelling of a page is ambiguous here as everywhere.
            #expect(try gateway.admin("//metrics").status == 400)
        }
    }

    @Test("No token, cookie or password that the suite has used appears in any gateway's output")
    func secrets() throws {
        // Each gateway's whole output is searched when it stops. This test shows that the search works.
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(Config.file(upstream: app.port, more: "log:\n  level: debug\n")) { gateway throws in
            let native = try gateway.native()
            let transfer = try gateway.mint(native)
            let browser = try gateway.browser()
            for secret in [native, transfer, browser, "analytical-engine"] {
                #expect(Secrets.shared.found(in: "{\"a\":\"\(secret)\"}").count == 1, "the search is blind")
            }
            // Secrets are not repeated in the output, wherever a client puts them.
            for secret in [native, transfer, browser] {
                _ = try gateway.get(
                    "/public/?token=\(secret)&session_transfer_token=\(secret)",
                    ["Referer: \(Request.origin)/?t=\(secret)"]
                )
                _ = try gateway.get(
                    "/",
                    [
                        "Authorization: Bearer \(secret)",
                        "Cookie: sallyport=\(secret); session_transfer_token=\(secret)",
                    ]
                )
                _ = try gateway.get("/", ["Authorization: DPoP \(secret)", "DPoP: \(secret)"])
                _ = try gateway.exchange(secret)
                _ = try gateway.get("/sessions/whoami", ["X-Session-Token: \(secret)"])
            }
            _ = try gateway.request(
                Request.post(
                    "/.sallyport/login",
                    ["Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded"],
                    body: "identifier=nobody&password=analytical-engine"
                )
            )
            #expect(
                eventually {
                    gateway.output.contains("/sessions/whoami") || gateway.output.contains(#""stream":"access""#)
                }
            )
        }
    }
}
