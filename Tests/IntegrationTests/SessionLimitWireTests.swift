import Foundation
import GatewayBench
import Testing

@Suite("The limit of a user's sessions on the wire", .blocking) struct SessionLimitWireTests {
    /// Runs `body` with a gateway whose `session` has these keys, too.
    private static func with(_ keys: String..., body: (Gateway) throws -> Void) throws {
        let session = (["session:"] + keys.map { "  \($0)" }).joined(separator: "\n")
        try Gateway.withApp({ Config.file(upstream: $0).replacing("session:\n", with: "\(session)\n") }) { gateway, _ in
            try body(gateway)
        }
    }

    private static func status(_ cookie: String, _ gateway: Gateway) throws -> Int {
        try gateway.get("/", ["Cookie: sallyport=\(cookie)"]).status
    }

    @Test("The second browser signs the first out, and the audit stream says why")
    func oldest() throws {
        try Self.with("max_per_user: {browser: 1}") { gateway in
            let first = try gateway.browser()
            let app = try gateway.native()
            let second = try gateway.browser()
            #expect(try Self.status(first, gateway) == 401)
            #expect(try Self.status(second, gateway) == 200)
            #expect(try gateway.get("/sessions/whoami", ["X-Session-Token: \(app)"]).status == 200)
            #expect(
                eventually {
                    gateway.output.split(separator: "\n").contains {
                        $0.contains(#""event":"session.ended""#) && $0.contains(#""reason":"session.limit""#)
                    }
                }
            )
        }
    }

    @Test("With on_limit: refuse, the second browser gets a page with a link to the list of sessions")
    func refused() throws {
        try Self.with("max_per_user: {browser: 1}", "on_limit: refuse") { gateway in
            let first = try gateway.browser()
            let page = try gateway.request(
                Request.post(
                    "/.sallyport/login",
                    [
                        "Origin: \(Request.origin)", "Content-Type: application/x-www-form-urlencoded",
                        "Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Site: same-origin",
                    ],
                    body: "identifier=ada@example.com&password=\(User.ada.password)&return_to=/"
                )
            )
            #expect(page.status == 403 && page.text.contains("session.limit"), "\(page.lines) \(page.text)")
            #expect(page.text.contains("href=\"/.sallyport/sessions\""))
            #expect(try Self.status(first, gateway) == 200)
            #expect(try gateway.metric(#"sallyport_sign_ins_total{kind="web",result="session.limit"}"#) == 1)
        }
    }
}
