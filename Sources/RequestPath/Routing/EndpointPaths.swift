package import Endpoints
import Glibc
package import Vocabulary

/// The result of looking up one of the gateway's own endpoints.
package enum EndpointMatch: Sendable {
    case none
    /// The gateway answers the request.
    case endpoint(Endpoint)
    /// The identity provider answers, by this public route.
    case forward(RouteEntry)
    /// The path belongs to the gateway, but the method is not accepted. The text is the value of `Allow`.
    case methodNotAllowed(String, RefusalEnvelope?)
    /// 400: the path belongs to the gateway only in its normalised form, so an app could read it differently.
    case refused(Reason, RefusalEnvelope?)

    /// Whether the path belongs to the gateway.
    var isThere: Bool {
        if case .none = self { false } else { true }
    }
}

/// The paths of the gateway's own endpoints on one host.
///
/// A literal path takes precedence over a path with a parameter. Between two paths with parameters, the first
/// difference decides: a literal takes precedence.
package final class EndpointPaths: Sendable {
    /// An endpoint and the match for requests to it.
    package struct Entry: Sendable {
        fileprivate let pattern: EndpointPattern
        fileprivate let methods: [String]
        fileprivate let match: EndpointMatch
        fileprivate let envelope: RefusalEnvelope?
        /// The habits (`PathHabits`) that do not make a path of the endpoint ambiguous.
        fileprivate let clear: PathHabits
        fileprivate let isApp: Bool

        /// Creates an entry for an endpoint that the gateway answers.
        package init(_ endpoint: Endpoint) {
            self.pattern = endpoint.pattern
            self.methods = endpoint.methods
            self.match = .endpoint(endpoint)
            self.envelope = endpoint.envelope
            // Decoding once gives the path that the client meant, unless the result contains a separator.
            let escapes: PathHabits = [.decodes, .decodesTwice, .dropsStreams, .reparses, .trims]
            let names: PathHabits = endpoint.allowsEscapedParameters ? escapes : []
            self.clear = endpoint.mergesSlashes ? names.union(.merges) : names
            self.isApp = endpoint.isApp
        }

        /// Creates an entry for an endpoint that the identity provider answers, with the route to it.
        init(_ endpoint: ForwardingEndpoint, by route: RouteEntry) {
            self.pattern = endpoint.pattern
            self.methods = endpoint.methods
            self.match = .forward(route)
            self.envelope = nil
            self.clear = []
            self.isApp = false
        }
    }

    /// Excludes nearly all paths of the app by their length and the first byte after their slash.
    struct Filter: Sendable {
        /// Bit n is set if a literal path has n bytes. Bit 63 also represents all longer paths.
        fileprivate var lengths: UInt64 = 0
        /// The length in bytes of the shortest path with a parameter.
        fileprivate var shortestParametric = Int.max

        /// The number of filters of a host, one for each value of the low bits of the first byte after the slash.
        static let count = 32

        @inline(__always)
        static func index(of path: UnsafeBufferPointer<UInt8>) -> Int {
            path.count > 1 ? Int(path[1]) & (Self.count - 1) : 0
        }

        @inline(__always)
        fileprivate static func bit(_ length: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: min(length, 63)) }

        /// Whether an endpoint may have a path of `length` bytes.
        @inline(__always)
        func admits(_ length: Int) -> Bool {
            self.lengths & Self.bit(length) != 0 || length >= self.shortestParametric
        }
    }

    /// The endpoints of one path.
    private struct Place: Sendable {
        let pattern: EndpointPattern
        let entries: [Entry]
        /// The value of `Allow`.
        let allow: String
        /// The form of rejections on this path. `nil` if they are problem documents.
        let envelope: RefusalEnvelope?
    }

    private let exact: [Place]
    /// The indices in `exact` by path.
    private let exactPaths: ByteTable
    private let parametric: [Place]
    /// The filters, each at its `Filter.index`.
    let filters: [Filter]

    package init(_ entries: [Entry]) {
        var groups: [[Entry]] = []
        for entry in entries {
            if let index = groups.firstIndex(where: { $0[0].pattern.matchesSamePaths(as: entry.pattern) }) {
                groups[index].append(entry)
            } else {
                groups.append([entry])
            }
        }
        let places = groups.map { group in
            Place(
                pattern: group[0].pattern,
                entries: group,
                allow: group.flatMap(\.methods).joined(separator: ", "),
                envelope: group.lazy.compactMap(\.envelope).first
            )
        }
        self.exact = places.filter(\.pattern.isExact)
        self.parametric = places.filter { !$0.pattern.isExact }.sorted { $0.pattern.precedes($1.pattern) }
        self.exactPaths = ByteTable(self.exact.enumerated().map { (key: $1.pattern.prefix, value: $0) })
        var filters = [Filter](repeating: Filter(), count: Filter.count)
        for place in self.exact {
            let index = place.pattern.prefix.withUnsafeBufferPointer { Filter.index(of: $0) }
            filters[index].lengths |= Filter.bit(place.pattern.shortest)
        }
        for place in self.parametric {
            let prefix = place.pattern.prefix
            let own = prefix.withUnsafeBufferPointer { Filter.index(of: $0) }
            // A parameter in the first segment may begin with any byte.
            for index in filters.indices where index == own || prefix.count == 1 {
                filters[index].shortestParametric = min(filters[index].shortestParametric, place.pattern.shortest)
            }
        }
        self.filters = filters
    }

    /// Looks up a path.
    ///
    /// A path that was not sent in normalised form is rejected if an app could read it differently.
    package func match(_ reading: PathReading, method: UnsafeBufferPointer<UInt8>) -> EndpointMatch {
        guard let place = self.place(of: reading.bytes) else { return .none }
        for entry in place.entries where entry.methods.contains(where: { $0.utf8.elementsEqual(method) }) {
            let isClear = reading.isRaw || entry.isApp || reading.habits.isSubset(of: entry.clear)
            return isClear ? entry.match : .refused(.pathAmbiguous, place.envelope)
        }
        return .methodNotAllowed(place.allow, place.envelope)
    }

    /// Returns the form of rejections on `path`. `nil` if they are problem documents.
    func envelope(of path: UnsafeBufferPointer<UInt8>) -> RefusalEnvelope? { self.place(of: path)?.envelope }

    private func place(of path: UnsafeBufferPointer<UInt8>) -> Place? {
        if let index = self.exactPaths[path] { return self.exact[index] }
        // Iterating over indices avoids copies of elements that do not match.
        for index in self.parametric.indices where self.parametric[index].pattern.matches(path) {
            return self.parametric[index]
        }
        return nil
    }
}
