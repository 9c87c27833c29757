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
        servers: { folder, port in
            let page = """
                <?php
                \(try Self.guide("php"))
                echo $user === '' ? 'nobody' : "user: $user\\nfield: {$_SERVER['HTTP_X_REMOTE_USER']}\\n";
                """
            let file = folder.appending(path: "index.php")
            try page.write(to: file, atomically: true, encoding: .utf8)
            let arguments = ["-S", "127.0.0.1:\(port)", "-t", folder.path, file.path]
            return [Server(program: Self.phpProgram ?? "", arguments: arguments, port: port)]
        },
        user: { text in text.firstMatch(of: /user: (.+)\n/).map { String($0.1) } }
    )

    private static let fpmProgram = Servers.find(["/usr/sbin/php-fpm8.2", "/usr/sbin/php-fpm8.4"])

    /// php-fpm behind nginx: a page with PHP's own session, uploads, redirects, and the scheme that the client uses.
    static let phpFPM = RealApp(
        testDescription: "php-fpm",
        requireInstalled: {
            if Self.fpmProgram == nil || Nginx.program == nil { try Servers.missing("php-fpm") }
        },
        servers: { folder, port in
            let page = """
                <?php
                session_start();
                $_SESSION['visits'] = ($_SESSION['visits'] ?? 0) + 1;
                if ($_SERVER['REQUEST_METHOD'] === 'POST') {
                    $_SESSION['size'] = $_FILES['file']['size'];
                    header('Location: /uploaded?' . $_SERVER['QUERY_STRING']);
                    exit;
                }
                \(try Self.guide("php"))
                header('Content-Type: text/html; charset=utf-8');
                echo '<pre>', $user === '' ? 'nobody' : "user: $user\n", "remote user: {$_SERVER['REMOTE_USER']}\n",
                    'https: ', $_SERVER['HTTPS'] ?? 'off', "\nvisits: {$_SESSION['visits']}\n",
                    'size: ', $_SESSION['size'] ?? 0, "\npath: {$_SERVER['REQUEST_URI']}\n</pre>";
                """
            let script = folder.appending(path: "index.php")
            try page.write(to: script, atomically: true, encoding: .utf8)
            let fpmPort = try ServerPorts.take()
            let fpm = """
                [global]
                daemonize = no
                error_log = \(folder.path)/fpm.log
                [www]
                user = \(NSUserName())
                listen = 127.0.0.1:\(fpmPort)
                pm = static
                pm.max_children = 4
                php_admin_value[session.save_path] = \(folder.path)
                php_admin_value[upload_max_filesize] = 64M
                php_admin_value[post_max_size] = 64M
                """
            let file = folder.appending(path: "fpm.conf")
            try fpm.write(to: file, atomically: true, encoding: .utf8)
            let nginx = try Nginx.server(
                in: folder,
                port: port,
                """
                \(Nginx.parameters)
                fastcgi_param SCRIPT_FILENAME \(script.path);
                \(try Self.guide("nginx"))
                fastcgi_pass 127.0.0.1:\(fpmPort);
                """
            )
            return [
                Server(program: Self.fpmProgram ?? "", arguments: ["-F", "-R", "-y", file.path], port: fpmPort), nginx,
            ]
        },
        page: "/wiki/start?do=edit&id=%C3%A4",
        user: { text in text.firstMatch(of: /user: (.+)\n/).map { String($0.1) } },
        use: { visit in
            let page = try visit.send("GET", "/wiki/start").utf8
            #expect(page.contains("remote user: ada\nhttps: on\n"), "\(page)")
            // The cookie of PHP's session is one of the place, whatever path it has.
            #expect(page.contains("visits: 2\n"), "\(page)")
            let size = 8 << 20
            let upload = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"
            let sent = try visit.send(
                "POST",
                "/upload?x=1",
                ["Content-Type: multipart/form-data; boundary=b"],
                body: upload + String(repeating: "x", count: size) + "\r\n--b--\r\n"
            )
            #expect(sent.status == 302, "\(sent.lines) \(sent.text.prefix(500))")
            #expect(sent.value("location") == visit.place.prefix + "/uploaded?x=1")
            let after = try visit.send("GET", "/uploaded?x=1").utf8
            #expect(after.contains("size: \(size)\n"), "\(after)")
        }
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
