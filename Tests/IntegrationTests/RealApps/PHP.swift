import Foundation
import GatewayBench
import Testing

extension RealApp {
    private static let phpProgram = Servers.find(["/usr/bin/php"])

    /// A page for PHP's own server, which writes a later field of another spelling over an earlier one.
    static let php = RealApp(
        testDescription: "php",
        requireInstalled: {
            if Self.phpProgram == nil { try Servers.missing("php-cli") }
        },
        command: { folder, port in
            let page = """
                <?php
                \(try Self.guide("php"))
                echo $user === '' ? 'nobody' : "user: $user\\nfield: {$_SERVER['HTTP_X_REMOTE_USER']}\\n";
                """
            let file = folder.appending(path: "index.php")
            try page.write(to: file, atomically: true, encoding: .utf8)
            return (Self.phpProgram ?? "", ["-S", "127.0.0.1:\(port)", "-t", folder.path, file.path])
        },
        user: { text in text.firstMatch(of: /user: (.+)\n/).map { String($0.1) } }
    )
}

@Suite("A PHP page behind the gateway", .blocking) struct PHPTests {
    @Test("The field itself is ASCII: everything else in a name, and %, is percent-encoded")
    func encoding() throws {
        try RealAppBench.with(.php) { bench throws in
            var mary = try bench.signIn(RealAppBench.mary)
            #expect(try bench.ask(&mary).text.contains("field: M%C3%A1ry %E2%9C%93 100%25\n"))
        }
    }

    @Test("With encoding: utf8 the field is the name itself")
    func plainUTF8() throws {
        try RealAppBench.with(.php, identity: "  encoding: utf8\n") { bench throws in
            var mary = try bench.signIn(RealAppBench.mary)
            let page = String(decoding: try bench.ask(&mary).body, as: UTF8.self)
            #expect(page.contains("field: Máry ✓ 100%\n"), "\(page)")
        }
    }
}
