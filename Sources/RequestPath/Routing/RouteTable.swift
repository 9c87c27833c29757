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

/// All hosts and routes of one configuration: made at load, read by every loop, swapped whole on reload.
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

    /// The same for a text.
    package func host(named authority: String) -> HostEntry? {
        Array(authority.utf8).withUnsafeBufferPointer { self.host(for: $0) }
    }

    /// The route of a request, frozen before any credential is looked at.
    ///
    /// The most specific pattern wins: literal before `*` before `**`, the longer literal prefix first, and of one
    /// pattern the route that names the method. A method that none of them takes is 405.
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
        host.match(method, rawPath, reading)
    }
}
