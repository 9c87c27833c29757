import Foundation
import GatewayBench
import Testing

/// Several providers of others on one host, without a browser's program: what comes and goes on the wire.
@Suite("Several providers of others on one host", .blocking)
struct ChoiceTests {
    private static func begin(_ bench: ChoiceBench, _ user: inout WebUser, at provider: ChoiceBench.Choice) throws
        -> WebUser.Arrival
    {
        let page = try user.open("\(bench.origin)/x?a=1")
        #expect(page.answer.status == 200 && page.url.contains("/.sallyport/login?"), "\(user.trail)")
        return try user.open(bench.origin + (try SeveralProvidersTests.link(to: provider.rawValue, on: page)))
    }

    @Test("Each sends its users back to its own place, where they are signed in, and each is left again")
    func each() throws {
        try ChoiceBench.with { bench throws in
            var user = WebUser(bench.gateway)
            for provider in ChoiceBench.Choice.allCases {
                let away = try Self.begin(bench, &user, at: provider)
                let back = try bench.grant(&user, at: away, of: provider)
                #expect(back.hasPrefix("\(bench.origin)/.sallyport/callback/\(provider)?"), "\(back)")
                let landed = try user.open(back)
                #expect(landed.url == "\(bench.origin)/x?a=1" && landed.answer.status == 200, "\(user.trail)")
                #expect(landed.answer.text.contains("\r\nX-Provider: \(provider)\r\n"), "\(landed.answer.text)")
                #expect(landed.answer.text.contains("\r\nX-Email: ada@example.com\r\n"))
                let out = try bench.signOut(&user, of: provider)
                #expect(out.url.hasPrefix("\(bench.origin)/.sallyport/signed-out"), "\(user.trail)")
                #expect(try user.open("\(bench.origin)/x").url.contains("/.sallyport/login?"))
            }
        }
    }

    @Test("What a provider sends back completes nothing at the place of another")
    func mixedUp() throws {
        try ChoiceBench.with { bench throws in
            let all = ChoiceBench.Choice.allCases
            for (provider, other) in zip(all, all.dropFirst() + all.prefix(1)) {
                var user = WebUser(bench.gateway)
                let away = try Self.begin(bench, &user, at: provider)
                let back = try bench.grant(&user, at: away, of: provider)
                let refused = try user.open(back.replacing("/callback/\(provider)?", with: "/callback/\(other)?"))
                #expect(refused.answer.status == 400, "\(user.trail)")
                #expect(refused.answer.pageReason == "signin.state_mismatch", "\(refused.answer.text)")
                #expect(try user.open("\(bench.origin)/x").url.contains("/.sallyport/login?"))
            }
        }
    }
}
