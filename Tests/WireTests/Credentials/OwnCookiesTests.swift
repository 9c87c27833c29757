import RequestPath
import TestSupport
import Testing

/// The gateway's cookies are found by their exact bytes, and removed without changing another cookie (T9, T32).
@Suite struct OwnCookiesTests {
    private static let cookies = OwnCookies(
        session: "__Host-s",
        handoff: ["stt", "auth0_stt"],
        attempt: "__Host-s-attempt",
        handled: "__Host-s-handled",
        provider: "ory_kratos_session"
    )

    private struct Reading: Equatable {
        var session: String?
        var handoff: String?
        var sessionIsAmbiguous = false
        var handoffIsAmbiguous = false
        var attempt: String?
        var attemptIsAmbiguous = false
        var handled: String?
        var hasCompanion = false
    }

    private static func withField<Value>(_ value: String, _ body: (Slice, Bytes) -> Value?) -> Value? {
        // The field is in the middle of other bytes, as in a head.
        let bytes = Array("Cookie: \(value)\r\nX: __Host-s=no; stt=no".utf8)
        return bytes.withUnsafeBufferPointer { buffer in
            buffer.baseAddress.flatMap { body(Slice(8, value.utf8.count), $0) }
        }
    }

    private static func find(_ value: String) -> Reading? {
        self.withField(value) { field, base in
            let found = self.cookies.find(in: field, base)
            func text(_ slice: Slice?) -> String? { slice.map { String(decoding: $0.bytes(in: base), as: UTF8.self) } }
            return Reading(
                session: text(found.session.value),
                handoff: text(found.handoff.value),
                sessionIsAmbiguous: found.session.isAmbiguous,
                handoffIsAmbiguous: found.handoff.isAmbiguous,
                attempt: text(found.attempt.value),
                attemptIsAmbiguous: found.attempt.isAmbiguous,
                handled: text(found.handled.value),
                hasCompanion: found.hasCompanion
            )
        }
    }

    /// What the app gets; nil: no field.
    private static func kept(_ value: String, dropsHandoff: Bool = true, dropsProviderCookie: Bool = true) -> String? {
        self.withField(value) { field, base in
            var text: String?
            self.cookies.forEachForwardedRun(
                of: field,
                base,
                dropsHandoff: dropsHandoff,
                dropsProviderCookie: dropsProviderCookie
            ) { slice in
                text = (text ?? "") + String(decoding: slice.bytes(in: base), as: UTF8.self)
            }
            return text
        }
    }

    @Test(
        arguments: [
            ("ory_kratos_session=x", "x", false), ("a=b; ory_kratos_session=x; __Host-s=y", "x", false),
            ("ory_kratos_session=x; ory_kratos_session=x", "x", false),
            ("ory_kratos_session=x; ory_kratos_session=y", nil, true), ("ORY_KRATOS_SESSION=x", nil, false),
            ("ory_kratos_sessio=x; ory_kratos_session2=y; =z", nil, false),
        ] as [(String, String?, Bool)]
    )
    func findsTheProvidersOwnCookie(_ value: String, _ cookie: String?, _ isAmbiguous: Bool) {
        let found = Self.withField(value) { field, base in
            let found = Self.cookies.find(in: field, base)
            return (
                found.provider.value.map { String(decoding: $0.bytes(in: base), as: UTF8.self) },
                found.provider.isAmbiguous
            )
        }
        #expect(found?.0 == cookie && found?.1 == isAmbiguous)
    }

    @Test func keepsTheProvidersCookieWhereItIsNotJudged() {
        #expect(Self.kept("a=b; ory_kratos_session=x; c=d") == "a=b; c=d")
        let both = "a=b; ory_kratos_session=x; c=d"
        #expect(Self.kept(both, dropsProviderCookie: false) == both)
    }

    @Test(arguments: [
        ("__Host-s=x", "x"), ("a=b; __Host-s=x", "x"), ("__Host-s=x; a=b", "x"), ("a=b;__Host-s=x;c=d", "x"),
        (" \t__Host-s=x \t; a=b", "x"),
        ("__Host-s=", ""), ("__Host-s==x=", "=x="), ("__Host-s=\"x\"", "\"x\""), ("__Host-s=%78", "%78"),
        ("__Host-s=a+b", "a+b"),
        ("__Host-s=\u{E9}", "\u{E9}"), ("__Host-s=x; __Host-s=x", "x"), ("__Host-s=a b", "a b"), ("__Host-s=x;", "x"),
    ]) func findsTheSessionByItsExactBytes(_ value: String, _ session: String) {
        #expect(Self.find(value) == Reading(session: session))
    }

    @Test(arguments: [
        "", "a=b", "__host-s=x", "__Host-S=x", "__Host-s2=x", "x__Host-s=x", "__Host-s", "a=__Host-s=x",
        "a=\"; b=__Host-s=x", "__Host-s =x",
        "%5F_Host-s=x", "$Version=1, __Host-s=x", "=__Host-s=x", ";;;", "; ; ", "a,__Host-s=x",
    ]) func nothingElseIsTheSession(_ value: String) {
        #expect(Self.find(value) == Reading())
        #expect((Self.kept(value) ?? "") == (value.isEmpty ? "" : Self.kept(value) ?? ""))
    }

    /// T9: if a sibling subdomain plants a second cookie with a gateway's name, neither counts.
    @Test(arguments: [
        "__Host-s=x; __Host-s=y", "__Host-s=y; a=b; __Host-s=x", "__Host-s=x; __Host-s=", "__Host-s=; __Host-s=x",
        "__Host-s=x; __Host-s=X",
        "__Host-s=x; __Host-s=y; __Host-s=x", "__Host-s=x; __Host-s=x; __Host-s=y", "__Host-s=x; __Host-s=\"x\"",
        "__Host-s=y; __Host-s=x; __Host-s=x",
    ]) func twoDifferentSessionsAreNone(_ value: String) {
        #expect(Self.find(value) == Reading(sessionIsAmbiguous: true))
        #expect(Self.kept(value) == (value.contains("a=b") ? "a=b" : nil))
    }

    @Test func handoffCookiesCountTogether() {
        #expect(Self.find("stt=x") == Reading(handoff: "x"))
        #expect(Self.find("auth0_stt=x; __Host-s=y") == Reading(session: "y", handoff: "x"))
        #expect(Self.find("auth0_stt=x; stt=x") == Reading(handoff: "x"))
        #expect(Self.find("auth0_stt=x; stt=y") == Reading(handoffIsAmbiguous: true))
        #expect(Self.find("stt=x; stt=y; __Host-s=z") == Reading(session: "z", handoffIsAmbiguous: true))
        #expect(Self.find("stt=x; stt=y; stt=x") == Reading(handoffIsAmbiguous: true))
    }

    @Test func findsTheAttemptBesideTheOthers() {
        #expect(Self.find("__Host-s-attempt=x") == Reading(attempt: "x"))
        #expect(Self.find("stt=t; __Host-s-attempt=x; __Host-s=y") == Reading(session: "y", handoff: "t", attempt: "x"))
        #expect(Self.find("__Host-s-attempt=x; __Host-s-attempt=x") == Reading(attempt: "x"))
        #expect(Self.find("__Host-s-attempt=x; __Host-s-attempt=y") == Reading(attemptIsAmbiguous: true))
        #expect(Self.find("__Host-s-attempt=x; __Host-s-attempt=y; __Host-s-attempt=x").map(\.attempt) == .some(nil))
        #expect(Self.find("__host-s-attempt=x; s-attempt=y; __Host-s-attempts=z") == Reading(hasCompanion: true))
    }

    @Test func findsTheMarkBesideTheOthers() {
        #expect(Self.find("__Host-s-handled=x") == Reading(handled: "x"))
        #expect(Self.find("stt=t; __Host-s-handled=x; __Host-s=y") == Reading(session: "y", handoff: "t", handled: "x"))
        #expect(Self.find("__Host-s-handled=x; __Host-s-handled=y").map(\.handled) == .some(nil))
        for drops in [true, false] {
            #expect(Self.kept("a=b; __Host-s-handled=x; c=d", dropsHandoff: drops) == "a=b; c=d")
        }
    }

    /// T38: whatever the gateway keeps in the browser is removed, also what this version does not know.
    @Test(arguments: [true, false]) func takesOutEveryCookieOfTheFamily(dropsHandoff: Bool) {
        for name in ["__Host-s-signin-abc", "__Host-s-attempts", "__Host-s-", "__Host-s--", "__Host-s-attempt-x"] {
            #expect(Self.kept("a=b; \(name)=x; c=d", dropsHandoff: dropsHandoff) == "a=b; c=d", "\(name)")
            #expect(Self.kept("\(name)=", dropsHandoff: dropsHandoff) == nil, "\(name)")
            #expect(Self.find("\(name)=x") == Reading(hasCompanion: true), "\(name)")
        }
        for name in ["__Host-s_x", "__Host-sx-", "__Host-S-x", "s-x", "__host-s-x"] {
            #expect(Self.kept("\(name)=x", dropsHandoff: dropsHandoff) == "\(name)=x")
            #expect(Self.find("\(name)=x") == Reading())
        }
    }

    @Test func givesTheLabelsOfTheFamily() {
        let value = "__Host-s-signin-a=x; a=b; __Host-s=y; __Host-s-attempt=z;__Host-s-=; __Host-s-signin-a=x=y"
        let found = Self.withField(value) { field, base in
            var found: [String] = []
            Self.cookies.forEachCompanion(in: field, base) { label, value in
                found.append(String(decoding: label.bytes(in: base), as: UTF8.self))
                found.append(String(decoding: value.bytes(in: base), as: UTF8.self))
            }
            return found
        }
        #expect(found == ["signin-a", "x", "", "", "signin-a", "x=y"])
    }

    @Test(
        arguments: [
            ("a=b", []), ("stt=x", ["x"]), ("stt=x; auth0_stt=x", ["x"]), ("stt=x; a=b; auth0_stt=y", ["x", "y"]),
            ("stt=x; stt=y; stt=x; stt=", ["x", "y", ""]), ("__Host-s=x", []),
        ] as [(String, [String])]
    ) func givesEachHandoffValueOnce(_ value: String, _ expected: [String]) {
        let values = Self.withField(value) { field, base in
            Self.cookies.handoffValues(in: field, base).map { String(decoding: $0.bytes(in: base), as: UTF8.self) }
        }
        #expect(values == expected)
    }

    /// The attempt cookie is always removed, also on routes without handoff.
    @Test(arguments: [true, false]) func takesTheAttemptOutEverywhere(dropsHandoff: Bool) {
        #expect(Self.kept("a=b; __Host-s-attempt=x; c=d", dropsHandoff: dropsHandoff) == "a=b; c=d")
        #expect(Self.kept("__Host-s-attempt=x", dropsHandoff: dropsHandoff) == nil)
        #expect(Self.kept("__Host-s-attempt=x; __Host-s-attempt=y", dropsHandoff: dropsHandoff) == nil)
    }

    @Test(
        arguments: [
            ("__Host-s=x", nil), ("stt=x; __Host-s=y; auth0_stt=z", nil), ("__Host-s=x;", nil),
            ("a=b", "a=b"), ("a=b; c=d", "a=b; c=d"), ("a=b;c=d", "a=b;c=d"), ("a=b;  c=d ;\te=f", "a=b;  c=d ;\te=f"),
            ("__Host-s=x; a=b", "a=b"), ("a=b; __Host-s=x", "a=b"), ("a=b; __Host-s=x; c=d", "a=b; c=d"),
            ("a=b;__Host-s=x;c=d", "a=b;c=d"),
            ("stt=1; a=b; __Host-s=x; c=d; auth0_stt=2; e=f", "a=b; c=d; e=f"), ("__Host-s=x; __Host-s=y; a=b", "a=b"),
            ("a=b; __Host-s2=x; __Host-s=x; __host-s=x", "a=b; __Host-s2=x; __host-s=x"),
            ("a=\u{E9}\"%00,; __Host-s=x; b=\u{4E2D}", "a=\u{E9}\"%00,; b=\u{4E2D}"),
            ("a; b; __Host-s=x; c", "a; b; c"),
            ("a==; __Host-s=x; =b", "a==; =b"), ("a=b; ; __Host-s=x; ;c=d", "a=b; ; ;c=d"), ("__Host-s=x;a=b", "a=b"),
            ("a=b;__Host-s=x", "a=b"), ("a=b; a=b; __Host-s=x; a=c", "a=b; a=b; a=c"),
        ] as [(String, String?)]
    ) func takesOursOutAndNothingElse(_ value: String, _ expected: String?) {
        #expect(Self.kept(value) == expected, "\(value)")
    }

    @Test func leavesTheHandoffCookieToAppsThatOwnIt() {
        #expect(Self.kept("stt=1; a=b; __Host-s=x; auth0_stt=2", dropsHandoff: false) == "stt=1; a=b; auth0_stt=2")
        #expect(Self.kept("__Host-s=x; stt=1", dropsHandoff: false) == "stt=1")
    }

    /// The gateway's cookie names never reach the app, wherever they are; every other name does.
    @Test func anyOrderGivesTheSamePieces() {
        let pieces = ["a=b", "__Host-s=x", "c", "stt=1", "__Host-s2=y", "e=f"]
        var generator = SeededNumbers(seed: 7)
        for _ in 0..<500 {
            let shuffled = pieces.shuffled(using: &generator)
            let expected = shuffled.filter { $0 != "__Host-s=x" && $0 != "stt=1" }.joined(separator: "; ")
            #expect(Self.kept(shuffled.joined(separator: "; ")) == expected)
        }
    }

    @Test func aThousandCookies() {
        let others = (0..<1000).map { "c\($0)=v\($0)" }
        var all = others
        all.insert("__Host-s=x", at: 500)
        #expect(Self.find(all.joined(separator: "; ")) == Reading(session: "x"))
        #expect(Self.kept(all.joined(separator: "; ")) == others.joined(separator: "; "))
        let same = Array(repeating: "__Host-s=x", count: 1000).joined(separator: "; ")
        #expect(Self.find(same) == Reading(session: "x"))
        #expect(Self.kept(same) == nil)
        let differing = (0..<1000).map { "__Host-s=\($0)" }.joined(separator: "; ")
        #expect(Self.find(differing) == Reading(sessionIsAmbiguous: true))
    }
}
