import Foundation
import GatewayBench
import Testing

/// What `check` says of the listeners.
@Suite("check and the listeners", .blocking) struct CheckedListenersTests {
    private static func check(
        _ more: String,
        command: String = "check"
    ) throws -> (status: Int32, output: String) {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "settings.yaml")
        let settings = """
            public_url: https://app.example.com
            upstream: http://127.0.0.1:3000
            routes: [{path: /**, auth: public}]
            \(more)

            """
        try settings.write(to: file, atomically: true, encoding: .utf8)
        return try Servers.run(Gateway.binary.path, [command, "--config", file.path])
    }

    @Test("It prints each listener with what is spoken there")
    func listeners() throws {
        let result = try Self.check(
            """
            listen: [127.0.0.1:8080, {address: ":8443", proxy_protocol: {from: [192.0.2.1, 192.0.2.8/29], others: plain}}]
            redirect_http: {address: ":8000", proxy_protocol: {from: 192.0.2.1}}
            authorization: {listen: 127.0.0.1:9092, peers: [127.0.0.1]}
            """
        )
        #expect(result.status == 0, "\(result.output)")
        let lines = """
            listeners:
              127.0.0.1:8080  http/1.1
              :8443  http/1.1  PROXY protocol from 192.0.2.1/32, 192.0.2.8/29, others without it
              :8000  http/1.1  308 to https  PROXY protocol from 192.0.2.1/32, others refused
              127.0.0.1:9092  http/1.1  checks of other proxies
              127.0.0.1:9090  http/1.1  operators
            """
        #expect(result.output.contains(lines), "\(result.output)")
    }

    @Test(
        "An IPv6 address that cannot be bound is named as it is written",
        arguments: ["2001:db8::5", "fe80::1%absent"]
    )
    func unbound(address: String) throws {
        let (status, output) = try Self.check("listen: \"[\(address)]:8443\"", command: "run")
        #expect(status == 1 && output.contains("listen: [\(address)]:8443 cannot be bound"), "\(output)")
        #expect(!output.contains("SocketAddressError"), "\(output)")
    }

    @Test("Where proxies name all clients, it does not warn of an unnamed one")
    func warnings() throws {
        let warning = "trusted_proxies is empty"
        #expect(try Self.check("listen: \":8443\"").output.contains(warning))
        let named = try Self.check("listen: {address: \":8443\", proxy_protocol: {from: 192.0.2.1}}")
        #expect(named.status == 0 && !named.output.contains(warning), "\(named.output)")
    }
}
