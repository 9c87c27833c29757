import CLinux
import Dispatch
import Glibc
package import NIOCore
import Synchronization

/// An error for a name that cannot be resolved.
package struct UnknownHost: Error, Equatable {
    package let host: String
    /// The message of the system's resolver.
    package let cause: String

    package init(host: String, cause: String) {
        self.host = host
        self.cause = cause
    }
}

/// Resolves names on a few threads of its own, because `getaddrinfo` may block for minutes. Simultaneous requests for a
/// name share one lookup.
package final class NameResolver: Sendable {
    /// One or more addresses, or the error.
    package typealias Answer = Result<[SocketAddress], UnknownHost>
    /// Called on one of the resolver's threads.
    package typealias Then = @Sendable (Answer) -> Void

    private struct State {
        var queue: LookupQueue
        var waiting: [HostName: [Then]] = [:]
    }

    private let state: Mutex<State>
    private let lanes: [DispatchQueue]
    private let lookUp: @Sendable (HostName) -> Answer

    /// The resolver for connections to the store and to providers.
    static let others = NameResolver("names", lanes: 4)

    /// - Parameters:
    ///   - label: The label of its threads.
    ///   - lanes: The maximum number of names that are resolved at once.
    ///   - lookUp: Resolves a name. The function may block.
    package init(
        _ label: String,
        lanes: Int,
        _ lookUp: @escaping @Sendable (HostName) -> Answer = { NameResolver.askSystem(for: $0) }
    ) {
        self.state = Mutex(State(queue: LookupQueue(lanes: lanes)))
        self.lanes = (0..<max(lanes, 1)).map { DispatchQueue(label: "\(label)-\($0)", qos: .utility) }
        self.lookUp = lookUp
    }

    /// Resolves a name.
    ///
    /// - Parameter isAwaited: True if a caller waits. Awaited names come before names that are only refreshed.
    package func resolve(_ name: HostName, isAwaited: Bool, _ then: @escaping Then) {
        let lane = self.state.withLock { state in
            state.waiting[name, default: []].append(then)
            return state.queue.add(name, isAwaited: isAwaited)
        }
        if let lane { self.lanes[lane].async { self.work(on: lane) } }
    }

    private func work(on lane: Int) {
        while let name = self.state.withLock({ $0.queue.next(of: lane) }) {
            let answer = self.lookUp(name)
            let waiting = self.state.withLock { state in
                state.queue.finished(name)
                return state.waiting.removeValue(forKey: name) ?? []
            }
            for then in waiting { then(answer) }
        }
    }

    /// Asks the system's resolver. This blocks.
    package static func askSystem(for name: HostName) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(name.host, String(name.port), &hints, &list)
        guard code == 0 else {
            return .failure(UnknownHost(host: name.host, cause: String(cString: gai_strerror(code))))
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let info = next {
            if let raw = info.pointee.ai_addr {
                switch info.pointee.ai_family {
                case AF_INET:
                    raw.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        found.append(SocketAddress($0.pointee, host: name.host))
                    }
                case AF_INET6:
                    raw.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                        found.append(SocketAddress($0.pointee, host: name.host))
                    }
                default: break
                }
            }
            next = info.pointee.ai_next
        }
        guard !found.isEmpty else { return .failure(UnknownHost(host: name.host, cause: "it has no address")) }
        return .success(found)
    }
}
