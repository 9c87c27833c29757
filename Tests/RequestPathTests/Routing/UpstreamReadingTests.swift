import RequestPath
import Settings
import TestSupport
import Testing

/// How common servers behind gateways get from a request's path to the resource that they serve.
enum Server: CaseIterable {
    case literal, nginx, python, tomcat, spring, decodesTwice, windows, windowsTwice, cString, rewriter,
        express

    func resource(_ path: [UInt8]) -> [[UInt8]] {
        var path = path
        switch self {
        case .literal: break
        case .nginx, .python: path = Self.decoded(path)
        case .express: path = Array(String(decoding: Self.decoded(path), as: UTF8.self).lowercased().utf8)
        case .tomcat: path = Self.decoded(Self.withoutParameters(path))
        case .spring: path = Self.withoutParameters(Self.decoded(path))
        case .decodesTwice: path = Self.decoded(Self.decoded(path))
        case .windows, .windowsTwice:
            if self == .windowsTwice { path = Self.decoded(path) }
            path = Self.decoded(path).map { $0 == 0x5C ? 0x2F : $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
        case .cString: path = Array(Self.decoded(path).prefix { $0 != 0 })
        case .rewriter: path = Array(Self.decoded(path).prefix { $0 != 0x3F && $0 != 0x23 })
        }
        var segments: [[UInt8]] = []
        for segment in path.split(separator: 0x2F).map(Array.init) {
            var name = segment
            if self == .windows || self == .windowsTwice, name != [0x2E], name != [0x2E, 0x2E] {
                while let last = name.last, last == 0x2E || last == 0x20 { name.removeLast() }
            }
            if name == [0x2E, 0x2E] {
                _ = segments.popLast()
            } else if !name.isEmpty, name != [0x2E] {
                segments.append(name)
            }
        }
        return segments
    }

    private static func decoded(_ path: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < path.count {
            if path[index] == 0x25, index + 2 < path.count,
                let byte = UInt8(String(decoding: path[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
            {
                result.append(byte)
                index += 3
            } else {
                result.append(path[index])
                index += 1
            }
        }
        return result
    }

    private static func withoutParameters(_ path: [UInt8]) -> [UInt8] {
        var isDropping = false
        return path.filter { byte in
            if byte == 0x2F { isDropping = false } else if byte == 0x3B { isDropping = true }
            return !isDropping
        }
    }
}

struct UpstreamReadingTests {
    private static let pieces = [
        "/", "/", "/", "admin", "admin", "public", "x", "%61dmin", "adm%69n", "p%75blic", "%2561dmin", "%25%36%31dmin",
        ".",
        "..", "%2e", "%2E", "%252e", "%2f", "%2F", "%252f", "%252F", "%5c", "%5C", "%255c", "\\", ";", ";v=1", "%3b",
        "%253B", "%", "%25", "%00",
        "%20",
        "%23", "%3F", "a", "%c0%af", "~", "Admin", "ADMIN", "%41dmin", "Public", "run.php", "Run.PHP", "r%75n.php",
    ]

    private static func path(_ dice: inout SeededNumbers) -> String {
        "/"
            + (0..<Int.random(in: 1...9, using: &dice)).map { _ in Self.pieces.randomElement(using: &dice) ?? "" }
            .joined()
    }

    @Test(
        "No spelling leads an anonymous request to a protected resource, whatever server is behind the gateway",
        arguments: 1...6
    )
    func noWayRound(seed: Int) {
        let admin = Array("admin".utf8)
        let open = Array("public".utf8)
        let lenient = Gate([
            route("/**", .public) { $0.allowEncodedSlashes = true },
            route("/admin/**", .required) { $0.allowEncodedSlashes = true },
        ])
        let script = Gate([
            route("/**", .public) { $0.allowEncodedSlashes = true },
            route("/run.php", .required) { $0.allowEncodedSlashes = true },
        ])
        let hole = Gate([route("/admin/public", .public), route("/admin/**", .required), route("/**", .required)])
        var dice = SeededNumbers(seed: UInt64(seed))
        var passed = 0
        for _ in 0..<8000 {
            let path = Self.path(&dice)
            let servers = Server.allCases.map { $0.resource(Array(path.utf8)) }
            for gate in [Gate.protectedAdmin, lenient] where gate.ask(path) == .route("/**") {
                passed += 1
                #expect(!servers.contains { $0.first == admin }, "\(path)")
            }
            if Gate.openPublic.ask(path) == .route("/public/**") {
                #expect(!servers.contains { $0.first == admin }, "\(path)")
            }
            // With path information the first segment is the script, whatever follows it.
            if script.ask(path) == .route("/**") {
                #expect(!servers.contains { $0.first == Array("run.php".utf8) }, "\(path)")
            }
            // One public place below a protected path must not open any other path below it.
            if hole.ask(path) == .route("/admin/public") {
                #expect(
                    !servers.contains { $0.first == admin && $0 != [admin, open] },
                    "\(path)"
                )
            }
        }
        #expect(passed > 100)
    }
}
