import Glibc

/// The path of an endpoint. A segment is a literal, or a parameter `{name}` for one segment that is not empty. A final
/// `**` matches the rest of the path, which may be empty.
///
/// Patterns are matched against normalised paths. These keep an encoded slash, so a parameter never matches two
/// segments.
package struct EndpointPattern: Sendable, Hashable {
    private enum Segment: Sendable, Hashable {
        case literal([UInt8])
        case parameter(String)
        case rest

        /// The precedence. Patterns with lower numbers are tried first.
        var rank: Int {
            switch self {
            case .literal: 0
            case .parameter: 1
            case .rest: 2
            }
        }
    }

    /// The pattern as written, e.g. `/api/v2/clients/{id}`.
    package let text: String
    private let segments: [Segment]
    /// The path up to the first parameter, or the whole path if there is no parameter.
    package let prefix: [UInt8]
    /// The length in bytes of the shortest path that matches.
    package let shortest: Int

    /// - Parameter text: A path that begins with `/`. Only the last segment may be `**`.
    package init(_ text: String) {
        self.text = text
        self.segments = text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .map { segment in
                if segment.elementsEqual("**".utf8) { return .rest }
                guard segment.count > 2, segment.first == UInt8(ascii: "{"), segment.last == UInt8(ascii: "}") else {
                    return .literal(Array(segment))
                }
                return .parameter(String(Substring(segment.dropFirst().dropLast())))
            }
        var prefix: [UInt8] = []
        for segment in self.segments {
            prefix.append(UInt8(ascii: "/"))
            guard case .literal(let bytes) = segment else { break }
            prefix += bytes
        }
        self.prefix = prefix
        self.shortest = self.segments.reduce(0) { sum, segment in
            switch segment {
            case .literal(let bytes): sum + 1 + bytes.count
            case .parameter: sum + 2
            case .rest: sum + 1
            }
        }
    }

    /// Whether the pattern matches exactly one path.
    package var isExact: Bool { self.segments.allSatisfy { $0.rank == 0 } }

    /// Returns whether this pattern and `other` match equal sets of paths. The names of parameters do not matter.
    package func matchesSamePaths(as other: EndpointPattern) -> Bool {
        self.segments.count == other.segments.count
            && zip(self.segments, other.segments).allSatisfy { $0 == $1 || $0.rank == 1 && $1.rank == 1 }
    }

    /// Returns whether this pattern is tried before `other`. Patterns that end with `**` come last, those with the most
    /// segments first. Other patterns come in the order of their number of segments. If the numbers are equal, a
    /// literal segment precedes a parameter.
    package func precedes(_ other: EndpointPattern) -> Bool {
        if self.hasRest != other.hasRest { return other.hasRest }
        guard self.segments.count == other.segments.count else {
            return (self.segments.count < other.segments.count) != self.hasRest
        }
        for (own, others) in zip(self.segments, other.segments) where own.rank != others.rank {
            return own.rank < others.rank
        }
        return false
    }

    private var hasRest: Bool { self.segments.last == .rest }

    /// Returns whether the pattern matches a normalised path. Allocates nothing.
    package func matches(_ path: UnsafeBufferPointer<UInt8>) -> Bool {
        guard path.count >= self.shortest, let base = path.baseAddress,
            self.prefix.withUnsafeBytes({ prefix in
                prefix.baseAddress.map { memcmp($0, base, prefix.count) == 0 } ?? false
            })
        else { return false }
        var start = 0
        for segment in self.segments {
            guard start < path.count, path[start] == UInt8(ascii: "/") else { return false }
            let end = Self.end(of: path, from: start + 1)
            switch segment {
            case .rest: return true
            case .parameter: if end == start + 1 { return false }
            case .literal(let bytes):
                guard bytes.count == end - start - 1, bytes.elementsEqual(path[(start + 1)..<end]) else { return false }
            }
            start = end
        }
        return start == path.count
    }

    /// Returns the parameters of `path`, in order. Empty if the pattern does not match.
    package func parameters(of path: UnsafeBufferPointer<UInt8>) -> [(name: String, value: String)] {
        guard !self.isExact, self.matches(path) else { return [] }
        var parameters: [(name: String, value: String)] = []
        var start = 0
        for segment in self.segments {
            let end = Self.end(of: path, from: start + 1)
            if case .parameter(let name) = segment {
                parameters.append((name, String(decoding: path[(start + 1)..<end], as: UTF8.self)))
            }
            start = end
        }
        return parameters
    }

    /// Returns the end of the segment that begins at `start`.
    private static func end(of path: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var end = start
        while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
        return end
    }
}
