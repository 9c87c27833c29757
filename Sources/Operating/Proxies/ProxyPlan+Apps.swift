import Settings
import Vocabulary

extension ProxyPlan {
    /// An app behind the proxy.
    struct App: Equatable {
        let label: String
        /// The app's servers. Never empty.
        let servers: [Server]
        var isHTTPS = false
        var balance = ServerBalance.leastRequests
        /// The health checks; `nil` if none are configured.
        var health: HealthSettings?
        /// The app's settings; `nil` for a placeholder.
        var settings: UpstreamSettings?
        /// True if the settings do not contain the app's address.
        var isPlaceholder = true

        /// Makes a placeholder for an app without an address in the settings.
        init(label: String) {
            self.label = label
            self.servers = [Server(host: "127.0.0.1", port: 3000, weight: 1, tlsName: "", isNamed: false)]
        }

        init(label: String, _ upstream: UpstreamSettings) {
            self.label = label
            self.servers = upstream.servers.map { server in
                let name = server.serverName ?? upstream.serverName
                return Server(
                    host: server.host,
                    port: server.port,
                    weight: server.weight,
                    tlsName: name ?? server.host,
                    isNamed: name != nil
                )
            }
            self.isHTTPS = upstream.isHTTPS
            self.balance = upstream.balance
            self.health = upstream.health
            self.settings = upstream
            self.isPlaceholder = false
        }

        struct Server: Equatable {
            let host: String
            let port: Int
            let weight: Int
            /// The name to expect in the server's certificate.
            let tlsName: String
            /// True if `tlsName` comes from the settings. Otherwise, it is the host.
            let isNamed: Bool

            var address: String { "\(self.host):\(self.port)" }
        }

        /// The TLS files for connections to the app.
        var files: Files {
            Files(
                authority: self.settings?.caFile.map(ProxyPlan.path),
                certificate: self.settings?.certificateFile.map(ProxyPlan.path),
                key: self.settings?.keyFile.map(ProxyPlan.path)
            )
        }

        /// Paths of PEM files for TLS with an app; `nil` for files that are not configured.
        struct Files: Hashable {
            /// The authorities that sign the servers' certificates.
            let authority: String?
            /// The certificate that the proxy presents.
            let certificate: String?
            let key: String?
        }

        var hasSeveralServers: Bool { self.servers.count > 1 }
        var hasWeights: Bool { self.servers.contains { $0.weight != 1 } }
        /// The port of the first server.
        var port: Int { self.servers[0].port }
        /// The first server's `tlsName`. Some proxies expect this name of all servers.
        var tlsName: String { self.servers[0].tlsName }
        /// The first server's `tlsName` in the settings; `nil` without HTTPS, or if the settings have none.
        var givenTLSName: String? { self.isHTTPS && self.servers[0].isNamed ? self.tlsName : nil }
        /// True if all servers have the same `tlsName`.
        var hasOneTLSName: Bool { self.servers.allSatisfy { $0.tlsName == self.tlsName } }

        func url(of server: Server) -> String { "\(self.isHTTPS ? "https" : "http")://\(server.address)" }
    }

    /// Returns a file's absolute path, in quotes if it contains characters that a proxy could interpret. Proxies
    /// resolve relative paths against other folders.
    private static func path(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : "\(Process.folder)/\(path)"
        guard !whole.utf8.allSatisfy({ $0.isAlphanumeric || "/._-".utf8.contains($0) }) else { return whole }
        return "\"\(whole.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    /// Returns a duration in a form that all proxies except Envoy accept.
    static func milliseconds(_ duration: Duration) -> String { "\(duration.wholeMilliseconds)ms" }
}
