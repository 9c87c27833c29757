import RequestPath
import Settings
import Testing
import Vocabulary

struct PathReadingTests {
    @Test(
        "A path of plain bytes is its own reading and is not copied",
        arguments: [
            "/", "/a", "/a/", "/index.html", "/a/b.c/d", "/deep/er/than/eight/bytes", "/assets/app-1.2.3.min.js",
            "/~u/x=1&y,z",
            "/1234567", "/12345678", "/123456/8.9", "/1234567/90abcdef/1", "/a@b", "/a|b", "/a9<b",
        ]
    )
    func plain(path: String) {
        withReading(Array(path.utf8)) { outcome in
            guard case .read(let reading) = outcome else {
                Issue.record("refused")
                return
            }
            #expect(reading.isRaw)
            #expect(reading.habits.isEmpty)
            #expect(!reading.isReserved)
        }
    }

    @Test(
        "The reading is decoded once, and has no repeated slashes and no parameters",
        arguments: [
            ("/%61dmin", "/admin"), ("/%41dmin", "/Admin"), ("//admin", "/admin"), ("/a//b///c", "/a/b/c"),
            ("/a//", "/a/"),
            ("/admin;x=1", "/admin"), ("/a;x/b;y=2;z/c", "/a/b/c"), ("/;x/admin", "/admin"), ("/a/;x=1", "/a/"),
            ("/admin%3Bx", "/admin"), ("/a%20b", "/a b"), ("/caf%C3%A9", "/caf\u{E9}"), ("/a%3Ab", "/a:b"),
            ("/100%25", "/100%"), ("/a%2fb", "/a%2Fb"), ("/a%2Fb", "/a%2Fb"), ("/%2520", "/%20"),
            ("/a%252Fb", "/a%2Fb"), ("/a%255Cb", "/a%5Cb"), ("/a%25252Fb", "/a%252Fb"), ("/%252561", "/%2561"),
            ("/a%5Cb", "/a\\b"), ("/%5c", "/\\"),
            ("/.well-known/x", "/.well-known/x"), ("/file.", "/file."), ("/...", "/..."), ("/C%23", "/C#"),
        ]
    )
    func oddities(path: String, expected: String) {
        #expect(reading(path) == .success(expected))
    }

    @Test(
        "Dot segments are refused in every spelling, also those that parameters and encoded slashes make",
        arguments: [
            "/.", "/..", "/./a", "/a/.", "/a/..", "/a/../b", "/%2e", "/%2E%2e", "/.%2e", "/%2e.", "/a/%2e%2E/b",
            "/..;/a", "/.;x",
            "/%2e%2e;/a", "/..%3b/a", "/a%2f..%2fb", "/a%2F%2e%2e", "/a;x=%2f..%2fb", "/..%20", "/.%20/a", "/a/..;x;y",
            "/a%5C..%5Cb", "/..%5Ca", "/a%5c%2e", "/a%5C..;x%5Cb", "/a;%5C..%5Cb", "/a%2F..%5Cb",
            "/..:$I30:$INDEX_ALLOCATION/a", "/a/.::$DATA", "/%2e%2e%3A:$I30/a", "/..%20:x/a",
        ]
    )
    func dotSegments(path: String) {
        #expect(reading(path) == .failure(RefusedPath(reason: .pathDotSegment)))
    }

    @Test(
        "A path in which a further decoding would make a dot segment or a control is refused, and so is one of many layers",
        arguments: [
            "/%252e%252e/a", "/.%252e/a", "/a%2500", "/%25252e", "/%2525252e", "/%25%32%65%252e", "/a/%252e",
            "/..%253bx",
            "/a%25c0%25af", "/x%252f%252e%252e%252fy", "/x%252f..%252fy", "/x%255C..%255Cy", "/x%5C%252e%5Cy",
            "/x%255c%252e%252e", "/x%25252f%2e%2e%25252fy", "/a%25250a", "/a%25255C.%25255Cb", "/a%25252525252Fb",
            "/a%" + String(repeating: "25", count: 3000),
        ]
    )
    func doubleEncoding(path: String) {
        #expect(reading(path) == .failure(RefusedPath(reason: .pathDoubleEncoding)))
    }

    @Test("A backslash that is not encoded is refused", arguments: ["/a\\b", "/\\", "/a\\..\\b", "/%5c\\"])
    func backslash(path: String) {
        #expect(reading(path) == .failure(RefusedPath(reason: .pathBackslash)))
    }

    @Test(
        "Invalid escapes, controls and overlong forms are refused",
        arguments: [
            "/%", "/%4", "/%zz", "/%4g/a", "/a%u002e", "/%00", "/admin%00", "/a%0a", "/a%0D%0Ab", "/%7f", "/%1F",
            "/%09",
            "/%c0%af", "/%C0%AE%c0%ae/a", "/%c1%9c", "/%e0%80%af", "/%f0%80%80%af", "/%c0%2f",
        ]
    )
    func badEscapes(path: String) {
        #expect(reading(path) == .failure(RefusedPath(reason: .pathBadEscape)))
    }

    @Test(
        "A target that is not a path is refused",
        arguments: [
            "", "*", "a", "admin/x", "?", "/a?b", "/a#b", "/a b", "/a\tb", "/a\u{0}", "/caf\u{E9}", "http://host/a",
            "/1234567#", "/12345678#", "/123456789 ", "/1234567\u{7F}",
        ]
    )
    func noPath(path: String) {
        #expect(reading(path) == .failure(RefusedPath(reason: .requestTarget)))
    }

    @Test("Escaped Latin-1 is accepted and left to the app")
    func latin1() {
        withReading(Array("/%fcber%e9".utf8)) { outcome in
            guard case .read(let reading) = outcome else {
                Issue.record("refused")
                return
            }
            #expect(Array(reading.bytes) == [0x2F, 0xFC, 0x62, 0x65, 0x72, 0xE9])
        }
    }

    @Test("A path that does not fit into the scratch buffer is refused")
    func tooLong() {
        let path = Array("/%61".utf8)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 3) { scratch in
            path.withUnsafeBufferPointer {
                guard case .refused(.requestTarget) = PathReading.read($0, into: scratch) else {
                    Issue.record("read")
                    return
                }
            }
        }
    }

    @Test(
        "Every oddity is found at every offset, whether the path is read in steps of eight bytes or of one",
        arguments: [
            "%41", ";x", ":", "//", "./", "\\", "#", "?", " ", "\u{7F}", "\u{1}", "\u{E9}",
        ]
    )
    func everyOffset(oddity: String) {
        let refusedAlone: Bool = withReading(Array("/\(oddity)b".utf8)) { outcome in
            if case .refused = outcome { true } else { false }
        }
        for before in 1..<20 {
            for after in 0..<10 {
                let text = "/" + String(repeating: "a", count: before) + oddity + String(repeating: "b", count: after)
                withReading(Array(text.utf8)) { outcome in
                    switch outcome {
                    case .read(let reading): #expect(!reading.habits.isEmpty, "\(text)")
                    case .refused: #expect(refusedAlone, "\(text)")
                    }
                }
            }
        }
    }

    @Test("The gateway's own paths are recognized, and are ambiguous in any other spelling")
    func reserved() {
        for path in ["/.sallyport", "/.sallyport/", "/.sallyport/login", "/.sallyport/a%20b"] {
            withReading(Array(path.utf8)) { outcome in
                guard case .read(let reading) = outcome else {
                    Issue.record("refused \(path)")
                    return
                }
                #expect(reading.isReserved)
            }
        }
        for path in ["/%2Esallyport/login", "/.sallypor%74", "//.sallyport/login", "/.sallyport;x", "/;/.sallyport/x"] {
            #expect(reading(path) == .failure(RefusedPath(reason: .pathAmbiguous)), "\(path)")
        }
        for path in ["/.sallyports", "/x/.sallyport", "/.Sallyport"] {
            withReading(Array(path.utf8)) { outcome in
                guard case .read(let reading) = outcome else {
                    Issue.record("refused \(path)")
                    return
                }
                #expect(!reading.isReserved)
            }
        }
        let gate = Gate([route("/**", .public)])
        #expect(gate.ask("/.sallyport/nothing") == .notFound)
    }
}
