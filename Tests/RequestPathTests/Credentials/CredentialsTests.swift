import RequestPath
import Settings
import Testing
import Vocabulary

@Suite("The reader of credentials")
struct CredentialsTests {
    /// The result of reading, as text.
    private struct Read: Equatable, CustomStringConvertible {
        var presented: String
        var dropsAuthorization = false
        var isAmbiguous = false

        var description: String { "\(self.presented) \(self.dropsAuthorization) \(self.isAmbiguous)" }
    }

    private func read(
        _ fields: [String],
        target: String = "/x",
        bearer: BearerOwner = .gateway,
        passesHandoffToApp: Bool = false,
        _ body: (Credentials, Bytes) -> Void = { _, _ in }
    ) throws -> Read {
        let settings = route("/**", .required) {
            $0.bearer = bearer
            $0.passesHandoffToApp = passesHandoffToApp
        }
        let host = HostSettings(publicURL: Gate.app, endpoints: false, routes: [settings])
        let table = RouteTable([host], upstreams: ["app"])
        let cookies = OwnCookies(session: "s", handoff: ["h", "i"], attempt: "s-a", handled: "s-m", provider: "k")
        return try withHead("GET", fields, target: target) { head, base in
            let result = Credentials.read(
                head,
                base,
                route: table.entries[0],
                cookies: cookies,
                parameter: HandoffParameter(name: "t")
            )
            switch result {
            case .failure(let reason):
                return Read(presented: "\(reason.refusal?.status ?? 0) \(reason.rawValue)")
            case .success(let credentials):
                body(credentials, base)
                func text(_ slice: Slice) -> String { String(decoding: slice.bytes(in: base), as: UTF8.self) }
                let presented =
                    switch credentials.presented {
                    case .none: "none"
                    case .explicit(let token): "explicit \(text(token))"
                    case .cookie(let token): "cookie \(text(token))"
                    case .providerCookie(let token): "provider's \(text(token))"
                    case .unusable(let reason): "unusable \(reason.rawValue)"
                    }
                return Read(
                    presented: presented,
                    dropsAuthorization: credentials.dropsAuthorization,
                    isAmbiguous: credentials.cookies.session.isAmbiguous
                )
            }
        }
    }

    @Test(
        "An explicit credential is preferred to the cookie, and two explicit ones are refused",
        arguments: [
            ([], "none", false), (["Cookie: s=c"], "cookie c", false),
            (["Cookie: s=c", "Authorization: Bearer b"], "explicit b", true),
            (["Cookie: s=c", "X-Session-Token: x"], "explicit x", false),
            (["Cookie: s=c", "X-Session-Token:"], "unusable credential.malformed", false),
            (["Cookie: s=c", "Authorization: Bearer"], "unusable credential.malformed", true),
            (["Cookie: s=c", "Authorization: Bearer "], "unusable credential.malformed", true),
            (["Cookie: s=c", "Authorization: DPoP d"], "explicit d", true),
            (["Cookie: s=c", "Authorization: DPoP"], "unusable credential.malformed", true),
            (["Authorization: bEARER   b"], "explicit b", true),
            (["Authorization: dpop d"], "explicit d", true),
            (["Authorization: Bearer b", "X-Session-Token: x"], "400 credential.repeated", false),
            (["Authorization: DPoP d", "X-Session-Token: x"], "400 credential.repeated", false),
            // Other schemes belong to the app.
            (["Cookie: s=c", "Authorization: Basic b"], "cookie c", false),
            (["Authorization: Basic b", "X-Session-Token: x"], "explicit x", false),
            (["Authorization: Bearerb"], "none", false), (["Authorization: "], "none", false),
        ] as [([String], String, Bool)]
    )
    func precedence(fields: [String], presented: String, drops: Bool) throws {
        #expect(try self.read(fields) == Read(presented: presented, dropsAuthorization: drops))
    }

    @Test("With `bearer: app`, Authorization is left to the app")
    func appBearer() throws {
        #expect(try self.read(["Cookie: s=c", "Authorization: Bearer b"], bearer: .app) == Read(presented: "cookie c"))
        #expect(try self.read(["Authorization: DPoP d"], bearer: .app) == Read(presented: "none"))
        let both = ["Authorization: Bearer b", "X-Session-Token: x"]
        #expect(try self.read(both, bearer: .app) == Read(presented: "explicit x"))
    }

    @Test(
        "Session cookies with different values count as none; the same value twice counts as one",
        arguments: [
            ("s=c; s=d", "none", true), ("s=c; s=c", "cookie c", false), ("s=c; s=d; s=c", "none", true),
            ("s=; s=c", "none", true), ("x=s; s=c", "cookie c", false), ("S=c", "none", false), ("s", "none", false),
            ("s=\"c\"", "cookie \"c\"", false), (" s=c ", "cookie c", false), ("s =c", "none", false),
            ("s=", "cookie ", false),
        ] as [(String, String, Bool)]
    )
    func cookies(value: String, presented: String, isAmbiguous: Bool) throws {
        #expect(try self.read(["Cookie: \(value)"]) == Read(presented: presented, isAmbiguous: isAmbiguous))
    }

    @Test(
        "The provider's own cookie counts after the gateway's, and not with different values",
        arguments: [
            ("k=c", "provider's c", false), ("k=c; s=d", "cookie d", false), ("k=c; k=c", "provider's c", false),
            ("k=c; k=d", "none", false), ("s=a; s=b; k=c", "provider's c", true),
        ]
    )
    func providerCookie(value: String, presented: String, isAmbiguous: Bool) throws {
        #expect(try self.read(["Cookie: \(value)"]) == Read(presented: presented, isAmbiguous: isAmbiguous))
        #expect(try self.read(["Cookie: \(value)", "X-Session-Token: x"]).presented == "explicit x")
    }

    @Test("Transfer tokens are found in cookies and in the query, except on routes that leave them to the app")
    func handoff() throws {
        _ = try self.read(["Cookie: h=1; s-a=secret.moved"], target: "/x?b=1&t=2") { credentials, base in
            #expect(credentials.cookies.handoff.isThere && credentials.cookies.attempt.isThere)
            #expect(
                credentials.handoffParameter?.value.map { String(decoding: $0.bytes(in: base), as: UTF8.self) } == "2"
            )
            #expect(credentials.movedToken.map { String(decoding: $0.bytes(in: base), as: UTF8.self) } == "moved")
        }
        _ = try self.read([], target: "/x?t=2&t=3") { credentials, _ in
            #expect(credentials.handoffParameter?.isRepeated == true && credentials.handoffParameter?.value == nil)
        }
        _ = try self.read([], target: "/x?t=2", passesHandoffToApp: true) { credentials, _ in
            #expect(credentials.handoffParameter == nil)
        }
    }
}
