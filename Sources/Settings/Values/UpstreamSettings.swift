import AddressIntelligence

/// An app behind the gateway: one server, or several equal servers.
package struct UpstreamSettings: Sendable, Equatable {
    package var name: String
    /// The only server, or the first of several servers.
    package var first: ServerSettings
    package var others: [ServerSettings] = []
    package var balance = ServerBalance.leastRequests
    /// The health checks of the servers; `nil` if only the app's requests show whether a server is up.
    package var health: HealthSettings?
    /// The statuses after which a request may be retried on another server.
    package var retryOn: [Int] = []
    /// The time in which a recovered server gets fewer requests; `nil` for no slow start.
    package var slowStart: Duration?
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    /// The expected name in the certificates of servers without their own `server_name`; `nil` for the server's host.
    package var serverName: String?
    package var maxConnections = 1024
    package var maxQueue = 10_000
    /// The percentage of `maxConnections` that one client may use; `nil` for 25 to 50, depending on free connections.
    package var clientShare: Int?
    package var reuse = ConnectionReuse.shared
    package var answers = AnswerForm.strict
    /// The interval at which the names of the servers are resolved again.
    package var dnsRefresh = Duration.seconds(30)

    /// Creates an app with one server.
    package init(name: String, isHTTPS: Bool, host: String, port: Int) {
        self.name = name
        self.first = ServerSettings(isHTTPS: isHTTPS, host: host, port: port)
    }

    /// All servers, in the order of the settings.
    package var servers: [ServerSettings] { [self.first] + self.others }

    /// Whether a server of the app listens at a Unix socket.
    package var hasSocket: Bool { self.servers.contains { $0.socketPath != nil } }

    /// Whether the gateway uses TLS with the app's servers.
    package var isHTTPS: Bool {
        get { self.first.isHTTPS }
        set { self.first.isHTTPS = newValue }
    }

    /// The host of the first server.
    package var host: String {
        get { self.first.host }
        set { self.first.host = newValue }
    }

    /// The port of the first server.
    package var port: Int {
        get { self.first.port }
        set { self.first.port = newValue }
    }
}

/// One server of an app.
package struct ServerSettings: Sendable, Equatable {
    /// The maximum number of servers of one app.
    package static let limit = 64

    package var isHTTPS: Bool
    /// A name, or an address (IPv6 in brackets).
    package var host: String
    package var port: Int
    /// The path of the server's socket on this machine; `nil` if the server has an address.
    package var socketPath: String?
    /// The server's share of the requests, relative to the weights of the other servers.
    package var weight = 1
    /// The expected name in the server's certificate; `nil` for the app's `server_name`.
    package var serverName: String?

    package init(isHTTPS: Bool, host: String, port: Int) {
        self.isHTTPS = isHTTPS
        self.host = host
        self.port = port
    }

    /// Creates a server at a Unix socket. In URLs, the server is `http://localhost`.
    package init(socketPath: String) {
        self.init(isHTTPS: false, host: "localhost", port: 80)
        self.socketPath = socketPath
    }

    /// The server in messages: its origin, e.g. `http://app-1:3000`, or `unix:` and the path of its socket.
    package var origin: String { self.socketPath.map { "unix:\($0)" } ?? self.urlOrigin }

    /// Whether the server has a DNS name. A name may have several addresses.
    package var isNamed: Bool {
        guard self.socketPath == nil, !self.host.hasPrefix("[") else { return false }
        return IPAddress(self.host) == nil
    }

    /// The origin of the server's own URLs, e.g. `http://app-1:3000`.
    package var urlOrigin: String { "\(self.isHTTPS ? "https" : "http")://\(self.authority)" }

    /// The value of `Host`: the server's host, and its port if it is not the scheme's default.
    package var authority: String {
        let isDefaultPort = self.port == (self.isHTTPS ? 443 : 80)
        return "\(self.host)\(isDefaultPort ? "" : ":\(self.port)")"
    }
}

/// The health checks of an app's servers.
package struct HealthSettings: Sendable, Equatable {
    /// The path, and the query if there is one.
    package var path = "/"
    /// The `Host` of the request; `nil` for the host of the server's URL.
    package var host: String?
    package var interval = Duration.seconds(10)
    package var timeout = Duration.seconds(2)
    /// The number of consecutive good answers after which a server is used again.
    package var passes = 2
    /// The number of consecutive failed checks after which a server is no longer used.
    package var fails = 3
    /// The only good status; `nil` for 200 to 399.
    package var status: Int?

    package init() {}

    /// Whether this status is a good answer.
    package func isGood(_ status: Int) -> Bool { self.status.map { $0 == status } ?? (200...399).contains(status) }
}

/// The distribution of requests among an app's servers.
package enum ServerBalance: String, Sendable, CaseIterable, SettingWord {
    /// Of two random servers, the one with fewer requests in flight relative to its weight.
    case leastRequests = "least_requests"
    /// The servers take turns in proportion to their weights.
    case roundRobin = "round_robin"
    /// One server for all requests of a session or, without a session, of a client's address.
    case sticky
}

/// The forms of answers that the gateway accepts from an app.
package enum AnswerForm: String, Sendable, CaseIterable, SettingWord {
    /// Only answers as RFC 9112 defines them. Any other answer becomes 502.
    case strict
    /// Also answers in the forms that old servers send.
    case lenient
}

/// The requests that share a pooled connection to an app.
package enum ConnectionReuse: String, Sendable, CaseIterable, SettingWord {
    /// The requests of all users, one after another.
    case shared
    /// The requests of one session, or requests without a session. Late bytes of the app cannot reach another user.
    case strict
}
