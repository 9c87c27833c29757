package import Settings
package import Vocabulary

/// What became of looking for a route.
package enum RouteMatch: Sendable {
    case route(RouteEntry)
    case notFound
    /// 405, with the value of `Allow`.
    case methodNotAllowed(allow: String)
    /// 400: the path can be read in ways that demand different things, or holds what its route does not take.
    case refused(Reason)
}

/// Something about the routes that an operator should know; `check` prints it.
package struct RouteFinding: Sendable, Equatable, CustomStringConvertible {
    /// The gateway does not start with it.
    package var isError: Bool
    /// The authority of the host.
    package var host: String
    /// The name of the route; nil when it concerns the host.
    package var route: String?
    package var message: String

    package var description: String {
        "\(self.isError ? "error" : "warning"): \(self.host)\(self.route.map { " route \($0)" } ?? ""): \(self.message)"
    }
}

/// All hosts and routes of one configuration (DESIGN 2): made at load, read by every loop, swapped whole on reload.
package final class RouteTable: Sendable {
    package let hosts: [HostEntry]
    /// The routes of all hosts; each stands at its `index`.
    package let entries: [RouteEntry]
    /// What is wrong with the routes and what is worth a look. With an error among them the table must not be used: the
    /// routes it concerns are left out.
    package let findings: [RouteFinding]
    private let directory: HostDirectory

    /// - Parameters:
    ///   - upstreams: the names of the apps, in the order of `upstreamIndex`.
    ///   - replacesAuthorization: the apps get basic authentication from the gateway (`identity.basic`).
    package init(_ hosts: [HostSettings], upstreams: [String], replacesAuthorization: Bool = false) {
        var builder = RouteTableBuilder(upstreams: upstreams, replacesAuthorization: replacesAuthorization)
        self.hosts = builder.build(hosts)
        self.entries = self.hosts.flatMap(\.routes)
        self.findings = builder.findings
        self.directory = HostDirectory(hosts)
    }

    /// The host that the value of `Host` names, or nil. Allocates nothing.
    package func host(for authority: UnsafeBufferPointer<UInt8>) -> HostEntry? {
        self.directory.index(of: authority).map { self.hosts[$0] }
    }

    /// The route of a request, frozen before any credential is looked at.
    ///
    /// The most specific pattern wins: literal before `*` before `**`, the longer literal prefix first, and of one
    /// pattern the route that names the method. A method that it does not take falls through to wider patterns as long
    /// as those let in no more; otherwise it is 405.
    ///
    /// - Parameters:
    ///   - rawPath: the path as it came, without the query: what the app will see.
    ///   - reading: the reading of it.
    @inline(__always)
    package func match(
        host: HostEntry,
        method: UnsafeBufferPointer<UInt8>,
        rawPath: UnsafeBufferPointer<UInt8>,
        reading: PathReading
    ) -> RouteMatch {
        // What is ours is never the app's, whether or not an endpoint is there.
        if reading.isReserved { return .notFound }
        let match = host.tree.match(reading.bytes, method)
        if !host.isUniform, reading.bytes.last == UInt8(ascii: "/"), Self.opensFile(match, host, method, reading) {
            return .refused(.pathAmbiguous)
        }
        return reading.habits.isEmpty ? match : self.agreed(match, host, method, rawPath, reading)
    }

    /// `/secret.html/` is `/secret.html` to servers that take the slash for path information (Apache with
    /// `AcceptPathInfo On`, CGI): a route that protects the file must not be passed by on the slash.
    private static func opensFile(
        _ match: RouteMatch,
        _ host: HostEntry,
        _ method: UnsafeBufferPointer<UInt8>,
        _ reading: PathReading
    ) -> Bool {
        guard case .route(let route) = match, reading.bytes.count > 1 else { return false }
        let file = UnsafeBufferPointer(rebasing: reading.bytes.dropLast())
        guard case .route(let other) = host.tree.match(file, method) else { return false }
        return !route.strictness.covers(other.strictness)
    }

    /// A path with more than these many oddities is not worth the readings it would take.
    private static let mostHabits = 5

    /// `chosen` if every app would be at a route with the same demands, whatever of its habits it has.
    ///
    /// A reading that leads to no route cannot lead past one, so it does not count: `/x;jsessionid=1` is `/x`.
    private func agreed(
        _ chosen: RouteMatch,
        _ host: HostEntry,
        _ method: UnsafeBufferPointer<UInt8>,
        _ rawPath: UnsafeBufferPointer<UInt8>,
        _ reading: PathReading
    ) -> RouteMatch {
        guard case .route(let route) = chosen else { return chosen }
        if reading.hasEncodedSlash, !route.settings.allowEncodedSlashes { return .refused(.pathEncodedSlash) }
        if host.isUniform { return chosen }
        let present = reading.habits
        guard present.count <= Self.mostHabits else { return .refused(.pathAmbiguous) }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(rawPath.count, 1)) { scratch in
            guard let output = scratch.baseAddress else { return .refused(.pathAmbiguous) }
            // Every subset of the habits, the empty one (the raw path) last.
            var subset = present.rawValue
            while true {
                let habits = PathHabits(rawValue: subset)
                if habits.isCoherent(among: present) {
                    let count = habits.read(rawPath, into: output)
                    switch host.tree.match(UnsafeBufferPointer(start: output, count: count), method) {
                    case .route(let other) where other.demands == route.demands: break
                    case .notFound: break
                    default: return .refused(.pathAmbiguous)
                    }
                }
                if subset == 0 { return chosen }
                subset = (subset &- 1) & present.rawValue
            }
        }
    }
}
