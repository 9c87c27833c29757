import Dispatch
package import NIOCore
package import Settings
import Synchronization
import Transport
import Vocabulary

/// One server of an app, shared by all loops: the last addresses of its name, and what the loops tell one another of it.
package final class UpstreamServer: Sendable {
    package let settings: ServerSettings
    /// What an operator knows it by: its URL in the settings.
    package let name: String
    /// The server's own origin, as it may write it in `Location`.
    package let origin: [UInt8]
    /// The name for SNI and verification; nil for an address, which SNI cannot carry (RFC 6066 3).
    let tlsName: String?
    /// The name in the settings.
    private let givenName: String?
    /// The addresses of the name that do not answer.
    let memory = AddressMemory()
    /// What the loops know of its health.
    package let news = ServerNews()
    /// For `ServerChoice`: the same in every gateway.
    let hash: UInt64
    private let addresses: Mutex<[SocketAddress]>
    private let isLiteral: Bool
    /// The callbacks that wait for the current resolution; nil: none is running.
    private let waiting = Mutex<[@Sendable () -> Void]?>(nil)

    /// - Parameter name: The expected name in its certificate; nil: its host.
    init(_ settings: ServerSettings, name: String?) {
        self.settings = settings
        self.givenName = name
        self.name = settings.origin
        self.origin = Array(settings.origin.utf8)
        self.hash = StickyKey.hash(settings.origin.utf8)
        let host = settings.host
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        if let address = try? SocketAddress(ipAddress: bare, port: settings.port) {
            self.isLiteral = true
            self.tlsName = name
            self.addresses = Mutex([address])
        } else {
            self.isLiteral = false
            self.tlsName = name ?? host
            self.addresses = Mutex([])
        }
    }

    /// Whether the settings name this server, with the same name in its certificate. Its weight may differ.
    func isSame(as other: ServerSettings, _ name: String?) -> Bool {
        var other = other
        other.weight = self.settings.weight
        other.serverName = self.settings.serverName
        return self.settings == other && self.givenName == name
    }

    /// The last good addresses; empty until the name has been resolved once.
    package var currentAddresses: [SocketAddress] {
        self.addresses.withLock { $0 }
    }

    /// Resolves the name on another thread, because `getaddrinfo` blocks. If that fails, the last good addresses stay.
    package func refresh(_ then: @escaping @Sendable () -> Void = {}) {
        guard !self.isLiteral else { return then() }
        let isUnderWay = self.waiting.withLock { waiting in
            defer { waiting = (waiting ?? []) + [then] }
            return waiting != nil
        }
        guard !isUnderWay else { return }
        DispatchQueue.global(qos: .utility).async {
            let fresh = SocketAddress.resolve(self.settings.host, port: self.settings.port)
            if !fresh.isEmpty { self.addresses.withLock { $0 = fresh } }
            let waiting = self.waiting.withLock { waiting in
                defer { waiting = nil }
                return waiting ?? []
            }
            for then in waiting { then() }
        }
    }
}

/// What the loops tell one another of a server: that they leave it out, that it has answered one of them again, and what
/// checks find.
package final class ServerNews: Sendable {
    private struct State {
        /// How many loops leave it out.
        var loops = 0
        /// Whether a loop has left it out since it last answered one.
        var isOut = false
        /// Whether checks find it down.
        var isDown = false
        var backAt = NIODeadline.uptimeNanoseconds(0)
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether a loop has left it out since it last answered one.
    package var isOut: Bool { self.state.withLock { $0.isOut } }

    /// Whether checks find it down (`HealthSettings`).
    package var isDown: Bool { self.state.withLock { $0.isDown } }

    /// When it last came back.
    package var backAt: NIODeadline { self.state.withLock { $0.backAt } }

    /// Called when a loop leaves it out, perhaps once more. True: the operator is told.
    package func leaves(again: Bool) -> Bool {
        self.state.withLock { state in
            defer { state.isOut = true }
            if !again { state.loops += 1 }
            return !state.isOut && !state.isDown
        }
    }

    /// Called when it has answered a loop that had left it out. True: the operator is told.
    package func returns(now: NIODeadline) -> Bool {
        self.state.withLock { state in
            state.loops -= 1
            guard state.isOut else { return false }
            state.isOut = false
            state.backAt = now
            return !state.isDown
        }
    }

    /// Called when a loop that leaves it out has no more to do with it. If no other does so, nothing is held against it.
    package func forgets() {
        self.state.withLock { state in
            state.loops -= 1
            if state.loops == 0 { state.isOut = false }
        }
    }

    /// Called by the loop that checks. True: the operator is told.
    package func found(isDown: Bool) -> Bool {
        self.state.withLock { state in
            defer { state.isDown = isDown }
            return state.isDown != isDown && !state.isOut
        }
    }
}

/// What an operator is told of a server of an app: that it is left out, or that it serves again.
package struct ServerNotice: Sendable, Equatable {
    /// Why a server is left out.
    package enum Fault: Error, Equatable {
        case unreachable
        case reset
        case tls
        /// It answers with this status, as a gateway without an app does.
        case status(Int)
        /// Checks get no good answer.
        case check
        case malformed
        case timeout

        /// Why a request fails for which there is no other server.
        var reason: Reason {
            switch self {
            case .tls: .upstreamTLS
            case .reset: .upstreamReset
            case .malformed: .upstreamMalformed
            case .timeout: .upstreamTimeout
            case .unreachable, .status, .check: .upstreamUnreachable
            }
        }

        /// For people.
        package var sentence: String {
            switch self {
            case .unreachable: "it cannot be connected to"
            case .reset: "it closes connections before it answers"
            case .tls: "TLS with it does not come about"
            case .status(let status): "it answers with \(status)"
            case .check: "its health checks fail"
            case .malformed: "its answer cannot be passed on"
            case .timeout: "it does not answer in time"
            }
        }
    }

    /// The app's name in the settings.
    package let upstream: String
    /// The server's URL in the settings.
    package let server: String
    /// nil: it serves again.
    package let fault: Fault?
}

/// One loop's view of one server of an app.
package struct ServerReport: Sendable, Equatable {
    package let upstream: String
    package let server: String
    package let isOut: Bool
    package let inFlight: Int
    package let idle: Int
    /// How often it was left out since the loop has known it.
    package let ejections: Int
}
