import NIOCore
import RequestPath
import Settings
import Testing

/// References of apps and of clients, on routes that change the path.
@Suite("References below a prefix")
struct ReferencesTests {
    private static let publicOrigin = "https://app.example.com"

    /// Of an app that gets `/app/x` as `/x`, `/old/x` as `/v2/x`, or `/x` as `/base/x`.
    private static let settings = [
        "/app": route("/app/**", .required) { $0.stripPrefix = "/app" },
        "/old": route("/old/**", .required) {
            $0.stripPrefix = "/old"
            $0.addPrefix = "/v2"
        },
        "": route("/**", .required) { $0.addPrefix = "/base" },
    ]

    private static func prefixes(_ stripped: String) throws -> PathPrefixes {
        try #require(Self.settings[stripped].flatMap { PathPrefixes($0) })
    }

    static func references(_ stripped: String = "/app") throws -> PublicReferences {
        PublicReferences(
            try Self.prefixes(stripped),
            ownOrigins: [Array("http://127.0.0.1:9000".utf8)],
            publicOrigin: Array(Self.publicOrigin.utf8)
        )
    }

    private static func own(_ stripped: String = "/app") throws -> AppReferences {
        AppReferences(try Self.prefixes(stripped), publicOrigin: Array(Self.publicOrigin.utf8))
    }

    private func written(_ value: String, _ write: (UnsafeBufferPointer<UInt8>, inout ByteWriter) -> Void) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4096) { room in
            guard let base = room.baseAddress else { return "" }
            var writer = ByteWriter(base)
            Array(value.utf8).withUnsafeBufferPointer { write($0, &writer) }
            return String(decoding: UnsafeBufferPointer(start: base, count: writer.count), as: UTF8.self)
        }
    }

    @Test(
        "A cookie's path is the public one; all its other bytes stay as the app wrote them",
        arguments: [
            ("/app", "JSESSIONID=1; Path=/examples; HttpOnly", "JSESSIONID=1; Path=/app/examples; HttpOnly"),
            ("/app", "a=b; Path=/", "a=b; Path=/app"), ("/app", "a=b;PATH=/x", "a=b;PATH=/app/x"),
            ("/app", "a=b ;  path = /x/ ;Secure", "a=b ;  path = /app/x/ ;Secure"),
            ("/app", "=b; path=/x", "=b; path=/app/x"), ("/app", "a; Path=/x", "a; Path=/app/x"),
            ("/app", "a=\"Path=/x\"; Path=/y", "a=\"Path=/x\"; Path=/app/y"),
            // The last one applies.
            ("/app", "a=b; Path=/x; Path=/y", "a=b; Path=/x; Path=/app/y"),
            ("/app", "a=b; Path=/x; Path=", "a=b; Path=/x; Path="),
            // The app knows its prefix.
            ("/app", "a=b; Path=/app", "a=b; Path=/app"), ("/app", "a=b; Path=/app/x", "a=b; Path=/app/x"),
            ("/app", "a=b; Path=/apple", "a=b; Path=/app/apple"),
            // Browsers take the path of the request.
            ("/app", "a=b", "a=b"), ("/app", "a=b; Path", "a=b; Path"), ("/app", "a=b; Path=x", "a=b; Path=x"),
            ("/app", "a=Path=/x", "a=Path=/x"), ("/app", "a=b; Path=\"/x\"", "a=b; Path=\"/x\""),
            // They keep these for no other path.
            ("/app", "__Host-a=b; Secure; Path=/", "__Host-a=b; Secure; Path=/"),
            ("/app", " __hOST-a=b; Secure; Path=/", " __hOST-a=b; Secure; Path=/"),
            ("/app", "__Host-Http-a=b; Path=/", "__Host-Http-a=b; Path=/"),
            ("/app", "__Secure-a=b; Path=/", "__Secure-a=b; Path=/app"),
            // For all paths of several hosts.
            ("/app", "a=b; Domain=example.com; Path=/", "a=b; Domain=example.com; Path=/"),
            ("/app", "a=b; Path=/x; Domain=example.com", "a=b; Path=/app/x; Domain=example.com"),
            ("/old", "a=b; Path=/v2", "a=b; Path=/old"), ("/old", "a=b; Path=/v2/x", "a=b; Path=/old/x"),
            ("/old", "a=b; Path=/", "a=b; Path=/"), ("/old", "a=b; Path=/v23", "a=b; Path=/v23"),
            ("", "a=b; Path=/base/x", "a=b; Path=/x"), ("", "a=b; Path=/base", "a=b; Path=/"),
            ("", "a=b; Path=/", "a=b; Path=/"), ("/app", "", ""), ("/app", ";;Path=/x;", ";;Path=/app/x;"),
        ]
    )
    func cookies(stripped: String, cookie: String, expected: String) throws {
        let references = try Self.references(stripped)
        #expect(self.written(cookie) { references.writeCookie($0, &$1) } == expected)
    }

    @Test(
        "Only the targets of Link become public",
        arguments: [
            ("</x>; rel=preload", "</app/x>; rel=preload"),
            (
                "</x>; rel=next, <https://other.example/y>;rel=\"a, b\" ,</z>",
                "</app/x>; rel=next, <https://other.example/y>;rel=\"a, b\" ,</app/z>"
            ),
            ("</x>; title=\"</y>\\\"</z>\"; rel=a, </w>", "</app/x>; title=\"</y>\\\"</z>\"; rel=a, </app/w>"),
            ("<http://127.0.0.1:9000/x>", "<https://app.example.com/app/x>"),
            ("<https://app.example.com/x?a=</y>; rel=a", "<https://app.example.com/app/x?a=</y>; rel=a"),
            ("</app/x>", "</app/x>"), ("<x>, <?a>, <#b>, <//other.example/>", "<x>, <?a>, <#b>, <//other.example/>"),
            ("</x", "</x"), ("/x", "/x"), ("", ""), ("<>", "<>"), ("\"</x>", "\"</x>"), ("\"\\", "\"\\"),
        ]
    )
    func links(value: String, expected: String) throws {
        let references = try Self.references()
        #expect(self.written(value) { references.writeLinks($0, &$1) } == expected)
    }

    @Test(
        "The URL of Refresh becomes public, however it is written",
        arguments: [
            ("5; url=/x", "5; url=/app/x"), ("0;URL=/x?a;b", "0;URL=/app/x?a;b"),
            ("0; Url = '/x'", "0; Url = '/app/x'"),
            ("0; url=\"/app\"", "0; url=\"/app\""), ("0, url='/'; x", "0, url='/app/'; x"), ("1.5;/x", "1.5;/app/x"),
            ("0; urls", "0; urls"), ("0; url", "0; url"), ("5", "5"), ("5;", "5;"), ("5; url=", "5; url="), ("", ""),
            ("5; url=x", "5; url=x"), ("5; url=https://other.example/x", "5; url=https://other.example/x"),
            ("5; url=http://127.0.0.1:9000/x", "5; url=https://app.example.com/app/x"),
            ("5; url='/x", "5; url='/app/x"),
        ]
    )
    func refresh(value: String, expected: String) throws {
        let references = try Self.references()
        #expect(self.written(value) { references.writeRefresh($0, &$1) } == expected)
    }

    @Test(
        "A Destination gets the app's path, and one that is not the app's is missed",
        arguments: [
            ("/app", "https://app.example.com/app/x", "https://app.example.com/x", false),
            ("/app", "http://APP.example.com:80/app/x?a#b", "http://APP.example.com:80/x?a#b", false),
            ("/app", "/app/x", "/x", false), ("/app", "/app", "/", false), ("/app", "/app/", "/", false),
            ("/app", "/app/app/x", "/app/x", false), ("/app", "//app.example.com/app/x", "//app.example.com/x", false),
            ("/app", "https://app.example.com/x", "https://app.example.com/x", true), ("/app", "/x", "/x", true),
            ("/app", "/apple/x", "/apple/x", true), ("/app", "/%61pp/x", "/%61pp/x", true),
            ("/app", "/app//evil/x", "/app//evil/x", true),
            ("/app", "https://app.example.com", "https://app.example.com", true),
            ("/app", "///app/x", "///app/x", true),
            ("/app", "https://other.example/app/x", "https://other.example/app/x", false),
            ("/app", "https://app.example.com:8443/app/x", "https://app.example.com:8443/app/x", false),
            ("/app", "x", "x", false), ("/app", "", "", false),
            ("/old", "https://app.example.com/old/x", "https://app.example.com/v2/x", false),
            ("", "/x", "/base/x", false),
        ]
    )
    func destinations(stripped: String, value: String, expected: String, isMissed: Bool) throws {
        let references = try Self.own(stripped)
        #expect(self.written(value) { references.write($0, &$1) } == expected)
        #expect(Array(value.utf8).withUnsafeBufferPointer { references.misses($0) } == isMissed)
    }

    @Test(
        "Of If, the resources get the app's paths; lock tokens and entity tags stay",
        arguments: [
            ("(<urn:uuid:1>)", "(<urn:uuid:1>)"),
            ("(<https://app.example.com/app/x>)", "(<https://app.example.com/app/x>)"),
            (
                "<https://app.example.com/app/x> (<urn:uuid:1> [\"a)<b\"]) (Not <DAV:no-lock>) </app/y>(<urn:uuid:2>)",
                "<https://app.example.com/x> (<urn:uuid:1> [\"a)<b\"]) (Not <DAV:no-lock>) </y>(<urn:uuid:2>)"
            ),
            ("</x> (<a>)", "</x> (<a>)"), ("</app/x", "</app/x"), ("<<</app/x>", "<<</app/x>"), ("", ""),
            ("(\"", "(\""),
            ("</app/x> ([W/\"</app/y>\"])</app/z>([\"\\\"])", "</x> ([W/\"</app/y>\"])</z>([\"\\\"])"),
        ]
    )
    func conditions(value: String, expected: String) throws {
        let references = try Self.own()
        #expect(self.written(value) { references.writeCondition($0, &$1) } == expected)
    }
}
