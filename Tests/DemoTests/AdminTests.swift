import Foundation
import GatewayBench
import Testing

/// The operator's listener of the demo.
@Suite(.serialized) struct AdminTests {
    @Test func tellsHealthReadinessAndMetrics() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let results = try Shell.run([
            "curl -sS -w '%{http_code}' \(demo.admin)/healthz",
            "curl -sS -w '%{http_code}' \(demo.admin)/readyz",
            "curl -sS '\(demo.admin)/readyz?verbose'",
            "curl -sS -o /dev/null -w '%{http_code}' \(demo.admin)/other",
            "curl -sS -o /dev/null -w '%{http_code} %header{allow}' -X POST \(demo.admin)/healthz",
            "curl -sS -I \(demo.admin)/healthz",
            "curl -sS -o /dev/null -w '%{content_type}' \(demo.admin)/metrics",
        ])
        #expect(results[0].output.contains("ok\n200"))
        #expect(results[1].output.contains("ready\n200"))
        let detail = try JSONSerialization.jsonObject(with: Data(results[2].output.utf8)) as? [String: Any]
        #expect(detail?["ready"] as? Bool == true)
        #expect((detail?["checks"] as? [Any])?.isEmpty == false)
        #expect(results[3].output.hasPrefix("404"))
        #expect(results[4].output.hasPrefix("405 GET, HEAD"))
        #expect(results[5].output.contains("200 OK") && results[5].output.lowercased().contains("content-length: 3"))
        #expect(results[6].output.hasPrefix("text/plain; version=0.0.4; charset=utf-8"))
    }

    /// After requests of several kinds, so that the metrics have values.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool"), "promtool is not installed"))
    func metricsPleasePromtool() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        _ = try Shell.run(demo.steps.map(\.command))
        let results = try Shell.run(["curl -sS \(demo.admin)/metrics | promtool check metrics"])
        #expect(results[0].status == 0, "\(results[0].output)")
        let metrics = try Shell.run(["curl -sS \(demo.admin)/metrics"])[0].output
        #expect(metrics.contains(#"sallyport_http_requests_total{route="app""#))
        #expect(metrics.contains(#"sallyport_transfer_tokens_total{result="replayed"} 1"#))
        #expect(metrics.contains(#"sallyport_transfer_tokens_total{result="binding_mismatch"} 1"#))
        // No label holds a user or an address.
        #expect(!metrics.contains("ada@") && !metrics.contains("127.0.0"))
    }

    @Test func cannotBeFlooded() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let port = try #require(demo.admin.split(separator: ":").last)
        let results = try Shell.run([
            // A line without an end, an unwanted body, a smuggled length, and bytes that are not HTTP.
            "head -c 100000 /dev/zero | tr '\\0' a | curl -sS -m 5 telnet://127.0.0.1:\(port) | wc -c",
            "curl -sS -m 5 -o /dev/null -w '%{http_code}' -d \"$(head -c 70000 /dev/zero | tr '\\0' a)\" "
                + "\(demo.admin)/healthz 2>&1; true",
            "printf 'GET /healthz HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n' "
                + "| curl -sS -m 5 telnet://127.0.0.1:\(port); true",
            // Two hundred silent connections, then a question, which is answered when there is room again.
            "for i in $(seq 200); do exec {fd}<>/dev/tcp/127.0.0.1/\(port) && fds=\"$fds $fd\"; done 2>/dev/null; "
                + "for fd in $fds; do exec {fd}>&-; done; sleep 0.2; curl -sS -m 5 -w '%{http_code}' \(demo.admin)/healthz",
        ])
        #expect(!results[1].output.contains("200"))
        #expect(!results[2].output.contains("HTTP/1.1 200"))
        #expect(results[3].output.contains("200"), "\(results[3].output)")
    }

    /// Some clients always send a body. Every request gets an answer, whatever the body's size, timing or form.
    @Test func answersRequestsWithABody() throws {
        let demo = try Demo()
        defer { _ = demo.stop() }
        let port = try #require(demo.admin.split(separator: ":").last)
        let curl = "curl -sS -m 10 -o /dev/null -w '%{http_code}'"
        let megabyte = "head -c 1000000 /dev/zero"
        let raw = "curl -sS -m 10 telnet://127.0.0.1:\(port)"
        let results = try Shell.run([
            "\(curl) -d x \(demo.admin)/healthz", "\(curl) -X GET -d x=1 \(demo.admin)/readyz",
            "\(curl) -X GET -H 'Transfer-Encoding: chunked' -d abc \(demo.admin)/healthz",
            "\(curl) -X PUT -d x \(demo.admin)/metrics", "\(curl) -d x \(demo.admin)/other",
            "\(curl) -X GET -H 'Expect: 100-continue' -d x \(demo.admin)/healthz",
            "\(megabyte) | \(curl) -X GET -H 'Expect:' --data-binary @- \(demo.admin)/healthz",
            "\(megabyte) | \(curl) -X GET -H 'Expect: 100-continue' --data-binary @- \(demo.admin)/healthz",
            "\(megabyte) | \(curl) -X GET -H 'Expect:' -H 'Transfer-Encoding: chunked' --data-binary @- \(demo.admin)/healthz",
            "\(megabyte) | \(curl) -H 'Expect:' --data-binary @- \(demo.admin)/healthz",
            // Before the body has arrived, and after another request.
            "(printf 'GET /healthz HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 99999\\r\\n\\r\\n'; sleep 1) | \(raw)",
            "(printf 'GET /healthz HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 1\\r\\n\\r\\nx"
                + "GET /readyz HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n'; sleep 1) | \(raw)",
            "(printf 'GET /healthz HTTP/1.1\\r\\nA: '; head -c 40000 /dev/zero | tr '\\0' a; sleep 1) | \(raw)",
        ])
        let statuses = ["405", "200", "200", "405", "404", "200", "413", "413", "413", "405"]
        for (index, status) in statuses.enumerated() {
            #expect(results[index].output.hasPrefix(status), "\(index): \(results[index].output)")
        }
        #expect(results[10].output.contains("HTTP/1.1 413"), "\(results[10].output)")
        #expect(results[11].output.components(separatedBy: "HTTP/1.1 200").count == 3, "\(results[11].output)")
        #expect(results[12].output.contains("HTTP/1.1 431") || results[12].output.contains("HTTP/1.1 400"))
    }

    @Test func healthcheckAsksIt() throws {
        let demo = try Demo()
        let address = demo.admin.replacing("http://", with: "")
        let environment = [
            "SALLYPORT_ADMIN_LISTEN": address, "SALLYPORT_PUBLIC_URL": "https://app.example.com",
            "SALLYPORT_UPSTREAM": "http://127.0.0.1:9", "SALLYPORT_USERS_FILE": try Self.users(),
        ]
        defer { try? FileManager.default.removeItem(atPath: environment["SALLYPORT_USERS_FILE"] ?? "") }
        for arguments in [["healthcheck"], ["healthcheck", "--live"]] {
            let result = try Servers.run(Gateway.binary.path, arguments, environment: environment)
            #expect(result.status == 0 && result.output.hasPrefix("200 "), "\(result.output)")
            #expect(result.output.split(separator: "\n").count == 1)
        }
        // The other settings are not needed: they are missing or wrong here.
        for (arguments, environment) in [
            (["healthcheck"], ["SALLYPORT_ADMIN_LISTEN": address]), (["healthcheck", "--admin", address], [:]),
            (
                ["healthcheck", "--admin", address],
                ["SALLYPORT_ADMIN_LISTEN": "nowhere", "SALLYPORT_CONFIG": "/missing"]
            ),
            (["healthcheck", "--live"], ["SALLYPORT_ADMIN_LISTEN": address, "SALLYPORT_CONFIG": "/missing"]),
            (["healthcheck"], ["SALLYPORT_ADMIN_LISTEN": address, "SALLYPORT_PUBLIC_URL": "http://plain.example"]),
        ] {
            let result = try Servers.run(Gateway.binary.path, arguments, environment: environment)
            #expect(result.status == 0 && result.output.hasPrefix("200 "), "\(arguments): \(result.output)")
        }
        let lost = try Servers.run(
            Gateway.binary.path,
            ["healthcheck"],
            environment: ["SALLYPORT_CONFIG": "/missing"]
        )
        #expect(lost.status == 1 && lost.output.contains("no such file"), "\(lost.output)")
        let odd = try Servers.run(Gateway.binary.path, ["healthcheck", "--admin", "nowhere"])
        #expect(odd.status != 0 && odd.output.contains("--admin must be an address and a port"), "\(odd.output)")
        _ = demo.stop()
        let gone = try Servers.run(Gateway.binary.path, ["healthcheck", "--live"], environment: environment)
        #expect(gone.status == 1 && gone.output.split(separator: "\n").count == 1, "\(gone.output)")
    }

    private static func users() throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "sallyport-users-\(UUID()).yaml")
        let hash = "scrypt:1024:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        try Data("- identifier: ada\n  password_hash: \"\(hash)\"\n".utf8).write(to: file)
        return file.path
    }
}
