import Foundation
import GatewayBench
import RedisServers
import Testing

/// A proxy in front of two gateways, as `deploy/front` configures it.
enum Front: String, Sendable, CaseIterable {
    case nginx
    case haproxy

    /// The path of its program. A test that needs it ends if it is not installed.
    var program: String {
        get throws {
            guard let program = Servers.find(["/usr/sbin/\(self.rawValue)"]) else {
                try Servers.missing(self.rawValue)
            }
            return program
        }
    }

    /// Starts it. It runs until the returned process is stopped.
    ///
    /// - Parameters:
    ///     - gateways: The ports of the two gateways and of their admin listeners.
    ///     - isHasty: Whether its times are reduced to a fifth, to fit gateways with a `drain.delay` of 1 s.
    func start(
        _ program: String,
        before gateways: [(port: Int, admin: Int)],
        port: Int,
        isHasty: Bool,
        in folder: URL
    ) throws -> Servers.Running {
        let name = self == .nginx ? "nginx.conf" : "haproxy.cfg"
        var text = try String(contentsOf: Gateway.root.appending(path: "deploy/front/\(name)"), encoding: .utf8)
        for (index, gateway) in gateways.enumerated() {
            text = text.replacing(
                "gateway-\(index + 1):8080 check port 9090",
                with: "127.0.0.1:\(gateway.port) check port \(gateway.admin)"
            )
            .replacing(" gateway-\(index + 1):8080", with: " 127.0.0.1:\(gateway.port)")
        }
        text = text.replacing("listen 8080;", with: "listen 127.0.0.1:\(port);")
            .replacing("bind :8080", with: "bind 127.0.0.1:\(port)")
        if isHasty {
            text = text.replacing("keepalive_timeout 4s", with: "keepalive_timeout 800ms")
                .replacing("inter 1s", with: "inter 200ms")
        }
        guard !text.contains("gateway-1:8080") else { throw BenchFailure("\(name) names a gateway otherwise") }
        let file = folder.appending(path: name)
        switch self {
        case .nginx:
            text = Self.asUserOfTheTests(text)
        case .haproxy: break
        }
        try text.write(to: file, atomically: true, encoding: .utf8)
        let arguments =
            switch self {
            case .nginx: ["-p", folder.path, "-c", file.path, "-e", "stderr"]
            case .haproxy: ["-db", "-f", file.path]
            }
        return try Servers.Running(program, arguments, in: folder, port: port)
    }

    /// Settings of nginx with which it runs as the user who runs the tests, in a folder of its own.
    static func asUserOfTheTests(_ text: String) -> String {
        let http = """
            pid nginx.pid;
            http {
                client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fcgi;
                uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            """
        return "daemon off;\nuser root;\n" + text.replacing("http {", with: http, maxReplacements: 1)
    }
}
