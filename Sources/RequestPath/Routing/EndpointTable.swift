package import Endpoints

#if canImport(Glibc)
import Glibc
#endif

/// The gateway's own endpoints by path. They take precedence over routes: on a host with `endpoints: true` the app does
/// not get these paths, and `check` says so.
package struct EndpointTable: Sendable {
    package let endpoints: [Endpoint]
    private let paths: [[UInt8]]
    /// The length of the longest path. Longer paths are not compared.
    private let longest: Int

    package init(_ endpoints: [Endpoint]) {
        self.endpoints = endpoints
        self.paths = endpoints.map { Array($0.path.utf8) }
        self.longest = self.paths.map(\.count).max() ?? 0
    }

    package enum Match: Sendable {
        case none
        case endpoint(Endpoint)
        /// The path is an endpoint and does not take the method; with the value of `Allow`.
        case methodNotAllowed(String)
    }

    /// Looks up the endpoint of a path.
    package func match(
        _ path: UnsafeBufferPointer<UInt8>,
        method: UnsafeBufferPointer<UInt8>,
        servesSignIn: Bool
    ) -> Match {
        guard path.count <= self.longest, let base = path.baseAddress else { return .none }
        var allowed: [String] = []
        for index in self.paths.indices where self.paths[index].count == path.count {
            let isEqual = self.paths[index].withUnsafeBufferPointer { memcmp($0.baseAddress!, base, path.count) == 0 }
            guard isEqual, servesSignIn || self.endpoints[index].scope == .everyHost else { continue }
            let endpoint = self.endpoints[index]
            if endpoint.methods.contains(where: { $0.utf8.elementsEqual(method) }) { return .endpoint(endpoint) }
            allowed += endpoint.methods
        }
        return allowed.isEmpty ? .none : .methodNotAllowed(allowed.joined(separator: ", "))
    }

    /// The paths on a host that the app does not get.
    package func takenPaths(servesSignIn: Bool) -> [String] {
        Array(Set(self.endpoints.filter { servesSignIn || $0.scope == .everyHost }.map(\.path))).sorted()
    }
}
