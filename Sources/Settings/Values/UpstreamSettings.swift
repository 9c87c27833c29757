import AddressIntelligence

/// An app behind the gateway: one server, or several that serve the same.
package struct UpstreamSettings: Sendable, Equatable {
    package var name: String
    /// The server, or the first of several.
    package var first: ServerSettings
    package var others: [ServerSettings] = []
    package var balance = ServerBalance.leastRequests
    /// How its servers are asked whether they are there; nil: only its requests tell.
    package var health: HealthSettings?
    /// The statuses with which a server says that another one may answer better.
    package var retryOn: [Int] = []
    /// How long a server that has come back gets fewer requests; nil: none.
    package var slowStart: Duration?
    package var caFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    /// The name in the certificates of all servers that have none of their own.
    package var serverName: String?
    package var maxConnections = 1024
    package var maxQueue = 10_000
    /// The percentage of `maxConnections` that one client may use. `nil`: between a quarter and a half, by what is free.
    package var clientShare: Int?
    package var reuse = ConnectionReuse.shared
    package var answers = AnswerForm.strict
    /// How often the names of its servers are resolved again.
    package var dnsRefresh = Duration.seconds(30)

    /// An app on one server.
    package init(name: String, isHTTPS: Bool, host: String, port: Int) {
        self.name = name
        self.first = ServerSettings(isHTTPS: isHTTPS, host: host, port: port)
    }

    /// All servers, in the order of the settings.
    package var servers: [ServerSettings] { [self.first] + self.others }

    /// Whether one of its servers is behind a socket of this machine.
    package var hasSocket: Bool { self.servers.contains { $0.socketPath != nil } }

    /// Whether the gateway speaks TLS with the app. It does so with all servers or with none.
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
    /// The most servers that one app may have.
    package static let limit = 64

    package var isHTTPS: Bool
    /// A name, or an address (IPv6 in brackets).
    package var host: String
    package var port: Int
    /// The path of its socket on this machine; nil: it has an address.
    package var socketPath: String?
    /// Its share of the requests, against the weights of the others.
    package var weight = 1
    /// The name in its certificate; nil: that of the app.
    package var serverName: String?

    package init(isHTTPS: Bool, host: String, port: Int) {
        self.isHTTPS = isHTTPS
        self.host = host
        self.port = port
    }

    /// A server behind a socket of this machine, whose own URLs begin with `http://localhost`.
    package init(socketPath: String) {
        self.init(isHTTPS: false, host: "localhost", port: 80)
        self.socketPath = socketPath
    }

    /// What an operator knows it by: its origin, e.g. `http://app-1:3000`, or `unix:` and the path of its socket.
    package var origin: String { self.socketPath.map { "unix:\($0)" } ?? self.urlOrigin }

    /// Whether it has a name, whose addresses may be several.
    package var isNamed: Bool {
        guard self.socketPath == nil, !self.host.hasPrefix("[") else { return false }
        return IPAddress(self.host) == nil
    }

    /// The origin of its own URLs, e.g. `http://app-1:3000`.
    package var urlOrigin: String { "\(self.isHTTPS ? "https" : "http")://\(self.authority)" }

    /// Its host, and its port where that is not the usual one: the value of `Host`.
    package var authority: String {
        let isDefaultPort = self.port == (self.isHTTPS ? 443 : 80)
        return "\(self.host)\(isDefaultPort ? "" : ":\(self.port)")"
    }
}

/// How each server of an app is asked whether it is there.
package struct HealthSettings: Sendable, Equatable {
    /// The path, and the query if there is one.
    package var path = "/"
    /// The `Host` of the request; `nil` for that of the server's URL.
    package var host: String?
    package var interval = Duration.seconds(10)
    package var timeout = Duration.seconds(2)
    /// Good answers in a row after which a server is there again.
    package var passes = 2
    /// Checks without a good answer in a row after which it is left out.
    package var fails = 3
    /// The only good status; nil: 200 to 399.
    package var status: Int?

    package init() {}

    /// Whether a server that answers with this status is there.
    package func isGood(_ status: Int) -> Bool { self.status.map { $0 == status } ?? (200...399).contains(status) }
}

/// How the servers of an app share its requests.
package enum ServerBalance: String, Sendable, CaseIterable, SettingWord {
    /// Of two random servers, the one with fewer requests in flight for its weight.
    case leastRequests = "least_requests"
    /// One after the other, each as often as its weight says.
    case roundRobin = "round_robin"
    /// Always the same server for a session, and without a session for a client's address.
    case sticky
}

/// In which form an app may write its answers.
package enum AnswerForm: String, Sendable, CaseIterable, SettingWord {
    /// As RFC 9112 has it; anything else is 502.
    case strict
    /// Also as old servers write it.
    case lenient
}

/// Which requests share a kept connection to an app.
package enum ConnectionReuse: String, Sendable, CaseIterable, SettingWord {
    /// All users, in turn.
    case shared
    /// Only requests of one session, or only requests without one, so that bytes that the app sends too late reach no
    /// other user.
    case strict
}
