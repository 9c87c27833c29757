import Settings
import Vocabulary

extension ProxyPlan {
    /// An app, to which the proxy forwards.
    struct App: Equatable {
        let label: String
        /// Its servers, of which there is one at least.
        let servers: [Server]
        var isHTTPS = false
        var balance = ServerBalance.leastRequests
        /// How its servers are asked whether they are there.
        var health: HealthSettings?
        /// What the settings say of it; `nil` if they do not name it.
        var settings: UpstreamSettings?
        /// Whether the settings do not say where the app is.
        var isPlaceholder = true

        /// An app that the settings do not name.
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

        /// One of several servers, or the only one.
        struct Server: Equatable {
            let host: String
            let port: Int
            let weight: Int
            /// The name in its certificate.
            let tlsName: String
            /// Whether the settings say that name; else it is the host.
            let isNamed: Bool

            var address: String { "\(self.host):\(self.port)" }
        }

        /// The files by which the proxy and the app's servers know each other in TLS.
        var files: Files {
            Files(
                authority: self.settings?.caFile.map(ProxyPlan.path),
                certificate: self.settings?.certificateFile.map(ProxyPlan.path),
                key: self.settings?.keyFile.map(ProxyPlan.path)
            )
        }

        /// Files in PEM, as `path` writes them; `nil` where the settings name none.
        struct Files: Hashable {
            /// The authorities for the certificates of the app's servers.
            let authority: String?
            /// The certificate that is shown to them, and its key.
            let certificate: String?
            let key: String?
        }

        var hasSeveralServers: Bool { self.servers.count > 1 }
        var hasWeights: Bool { self.servers.contains { $0.weight != 1 } }
        /// The port of the first server.
        var port: Int { self.servers[0].port }
        /// The name in the certificate of the first server, which a proxy that knows one name asks all of them for.
        var tlsName: String { self.servers[0].tlsName }
        /// The same if the settings say it.
        var givenTLSName: String? { self.isHTTPS && self.servers[0].isNamed ? self.tlsName : nil }
        /// Whether all servers have one name in their certificates.
        var hasOneTLSName: Bool { self.servers.allSatisfy { $0.tlsName == self.tlsName } }

        func url(of server: Server) -> String { "\(self.isHTTPS ? "https" : "http")://\(server.address)" }
    }

    /// The whole path of a file, as proxies read a relative one from a folder of their own. It is in double quotes if it has
    /// a character, such as a space, that could mean something else to a proxy.
    private static func path(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : "\(Process.folder)/\(path)"
        guard !whole.utf8.allSatisfy({ $0.isAlphanumeric || "/._-".utf8.contains($0) }) else { return whole }
        return "\"\(whole.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    /// A duration in a notation that all proxies but Envoy read.
    static func milliseconds(_ duration: Duration) -> String { "\(duration.wholeMilliseconds)ms" }
}
