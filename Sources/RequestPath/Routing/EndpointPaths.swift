package import Endpoints
package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// What became of looking for one of the gateway's own endpoints.
package enum EndpointMatch: Sendable {
    case none
    /// The gateway answers.
    case endpoint(Endpoint)
    /// The identity provider answers: the request is judged by this route, a public one.
    case forward(RouteEntry)
    /// The path is the gateway's, the method is not: the value of `Allow`.
    case methodNotAllowed(String)
    /// 400: what only reads like one of the gateway's paths could be another path to the app.
    case refused(Reason)
}

/// The paths of the gateway's own endpoints on one host.
///
/// A literal path beats one with a parameter, and of two with parameters the one that is literal first wins. Only then is
/// the method looked at.
package final class EndpointPaths: Sendable {
    /// One endpoint.
    package struct Entry: Sendable {
        let pattern: EndpointPattern
        let methods: [String]
        let match: EndpointMatch

        package init(_ pattern: EndpointPattern, _ methods: [String], _ match: EndpointMatch) {
            self.pattern = pattern
            self.methods = methods
            self.match = match
        }
    }

    /// All endpoints of one path.
    private struct Place: Sendable {
        let pattern: EndpointPattern
        let entries: [Entry]
        /// The value of `Allow`.
        let allow: String
    }

    private let exact: [Place]
    private let parametric: [Place]
    /// Bit n is set if a literal path has n bytes; the last one stands for all longer ones.
    private let lengths: UInt64
    /// Bytes of the shortest path with a parameter.
    private let shortestParametric: Int

    package init(_ entries: [Entry]) {
        var groups: [[Entry]] = []
        for entry in entries {
            if let index = groups.firstIndex(where: { $0[0].pattern.takesTheSame(as: entry.pattern) }) {
                groups[index].append(entry)
            } else {
                groups.append([entry])
            }
        }
        let places = groups.map { group in
            Place(pattern: group[0].pattern, entries: group, allow: group.flatMap(\.methods).joined(separator: ", "))
        }
        self.exact = places.filter(\.pattern.isExact)
        self.parametric = places.filter { !$0.pattern.isExact }.sorted { $0.pattern.precedes($1.pattern) }
        self.lengths = self.exact.reduce(0) { $0 | Self.bit($1.pattern.shortest) }
        self.shortestParametric = self.parametric.map(\.pattern.shortest).min() ?? .max
    }

    private static func bit(_ length: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: min(length, 63)) }

    /// Looks a path up. Nearly every request is the app's, and its path is of a length that none of ours has.
    ///
    /// - Parameters:
    ///   - path: The reading of the path.
    ///   - isRaw: The path came as it is read; else none of ours is answered, because the app could read it otherwise.
    @inline(__always)
    package func match(
        _ path: UnsafeBufferPointer<UInt8>,
        method: UnsafeBufferPointer<UInt8>,
        isRaw: Bool
    ) -> EndpointMatch {
        guard self.lengths & Self.bit(path.count) != 0 || path.count >= self.shortestParametric else { return .none }
        return self.find(path, method, isRaw)
    }

    private func find(
        _ path: UnsafeBufferPointer<UInt8>,
        _ method: UnsafeBufferPointer<UInt8>,
        _ isRaw: Bool
    ) -> EndpointMatch {
        guard let place = self.place(of: path) else { return .none }
        for entry in place.entries where entry.methods.contains(where: { $0.utf8.elementsEqual(method) }) {
            return isRaw ? entry.match : .refused(.pathAmbiguous)
        }
        return .methodNotAllowed(place.allow)
    }

    private func place(of path: UnsafeBufferPointer<UInt8>) -> Place? {
        // By index: the elements that do not match are not copied.
        for index in self.exact.indices where self.exact[index].pattern.shortest == path.count {
            if self.exact[index].pattern.matches(path) { return self.exact[index] }
        }
        for index in self.parametric.indices where self.parametric[index].pattern.matches(path) {
            return self.parametric[index]
        }
        return nil
    }
}
