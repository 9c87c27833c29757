package import Endpoints
package import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

/// The result of looking for one of the gateway's own endpoints.
package enum EndpointMatch: Sendable {
    case none
    /// The gateway answers.
    case endpoint(Endpoint)
    /// The identity provider answers: the request is judged by this route, a public one.
    case forward(RouteEntry)
    /// The path is the gateway's, but it does not accept the method. The text is the value of `Allow`.
    case methodNotAllowed(String, RefusalEnvelope?)
    /// 400: only the normalised path is one of the gateway's, so an app could read the path differently.
    case refused(Reason, RefusalEnvelope?)

    /// Whether the path is the gateway's.
    var isThere: Bool {
        if case .none = self { false } else { true }
    }
}

/// The paths of the gateway's own endpoints on one host.
///
/// A literal path takes precedence over one with a parameter. Of two paths with parameters, the one that is literal
/// where they first differ wins. Only then is the method compared.
package final class EndpointPaths: Sendable {
    /// One endpoint and the result of a request to it.
    package struct Entry: Sendable {
        fileprivate let pattern: EndpointPattern
        fileprivate let methods: [String]
        fileprivate let match: EndpointMatch
        fileprivate let envelope: RefusalEnvelope?
        /// The habits that do not make a path ambiguous, because no app is behind the listener.
        fileprivate let clear: PathHabits
        fileprivate let isApp: Bool

        /// An endpoint that the gateway answers.
        package init(_ endpoint: Endpoint) {
            self.pattern = endpoint.pattern
            self.methods = endpoint.methods
            self.match = .endpoint(endpoint)
            self.envelope = endpoint.envelope
            // What is decoded once is what was meant, unless it holds a separator.
            let escapes: PathHabits = [.decodes, .decodesTwice, .dropsStreams, .reparses, .trims]
            let names: PathHabits = endpoint.takesEscapes ? escapes : []
            self.clear = endpoint.mergesSlashes ? names.union(.merges) : names
            self.isApp = endpoint.isApp
        }

        /// An endpoint that the identity provider answers, and the route to it.
        init(_ endpoint: ForwardingEndpoint, by route: RouteEntry) {
            self.pattern = endpoint.pattern
            self.methods = endpoint.methods
            self.match = .forward(route)
            self.envelope = nil
            self.clear = []
            self.isApp = false
        }
    }

    /// Rules out nearly all paths of the app by their length and the first byte after their slash. It is used for every
    /// request, so it is a value without references.
    struct Filter: Sendable {
        /// Bit n is set if a literal path has n bytes; the last bit is for all longer ones.
        fileprivate var lengths: UInt64 = 0
        /// The number of bytes of the shortest path with a parameter.
        fileprivate var shortestParametric = Int.max

        /// How many filters a host has: one for each value of the low bits of that byte.
        static let count = 32

        @inline(__always)
        static func index(of path: UnsafeBufferPointer<UInt8>) -> Int {
            path.count > 1 ? Int(path[1]) & (Self.count - 1) : 0
        }

        @inline(__always)
        fileprivate static func bit(_ length: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: min(length, 63)) }

        /// Whether some endpoint may have a path of `length` bytes.
        @inline(__always)
        func admits(_ length: Int) -> Bool {
            self.lengths & Self.bit(length) != 0 || length >= self.shortestParametric
        }
    }

    /// All endpoints of one path.
    private struct Place: Sendable {
        let pattern: EndpointPattern
        let entries: [Entry]
        /// The value of `Allow`.
        let allow: String
        /// How clients of the path are refused; nil: with problem documents.
        let envelope: RefusalEnvelope?
    }

    private let exact: [Place]
    /// The indices of `exact` by path.
    private let exactPaths: ByteTable
    private let parametric: [Place]
    /// By `Filter.index`.
    let filters: [Filter]

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

    /// Looks a path up.
    ///
    /// A path that was sent in another form than the normalised one is refused, because an app could read it differently.
    package func match(_ reading: PathReading, method: UnsafeBufferPointer<UInt8>) -> EndpointMatch {
        guard let place = self.place(of: reading.bytes) else { return .none }
        for entry in place.entries where entry.methods.contains(where: { $0.utf8.elementsEqual(method) }) {
            let isClear = reading.isRaw || entry.isApp || reading.habits.isSubset(of: entry.clear)
            return isClear ? entry.match : .refused(.pathAmbiguous, place.envelope)
        }
        return .methodNotAllowed(place.allow, place.envelope)
    }

    /// How clients of the path are refused; nil: with problem documents.
    func envelope(of path: UnsafeBufferPointer<UInt8>) -> RefusalEnvelope? { self.place(of: path)?.envelope }

    private func place(of path: UnsafeBufferPointer<UInt8>) -> Place? {
        if let index = self.exactPaths[path] { return self.exact[index] }
        // By index, so that elements that do not match are not copied.
        for index in self.parametric.indices where self.parametric[index].pattern.matches(path) {
            return self.parametric[index]
        }
        return nil
    }
}
