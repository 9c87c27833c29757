import Glibc
import Settings
import Vocabulary

/// The routes of one host by segments. A literal precedes `*` and `*` precedes `**`, so the order in the file does not
/// matter.
///
/// A search reads each byte of the path at most once for each branch of the patterns.
final class RouteTree: @unchecked Sendable {
    // Immutable after init. The memory is freed in deinit.
    private struct Node {
        /// The index of the first literal child. Children are ordered by length, then by bytes.
        var firstChild = 0
        var childCount = 0
        /// The node for `*`. -1 if none exists.
        var any = -1
        /// The leaf for a path that ends here. -1 if none exists.
        var exact = -1
        /// The leaf for `**`. -1 if none exists.
        var rest = -1
    }

    private struct Child {
        var label: Int
        var count: Int
        var node: Int
    }

    /// The routes with one pattern. Routes that name methods precede the route that names none.
    private struct Leaf {
        var pattern: RoutePattern
        var routes: [RouteEntry]
        /// The methods that the routes name.
        var names: [[UInt8]]
        /// The combined demands of all routes.
        var strictness: Strictness
        var allow: String

        /// Returns the route that accepts the method.
        @inline(__always)
        func route(_ method: UnsafeBufferPointer<UInt8>) -> RouteEntry? {
            var index = 0
            while index < self.routes.count {
                if self.routes[index].methods.contains(method) {
                    return self.isRespelt(method, at: index) ? nil : self.routes[index]
                }
                index &+= 1
            }
            return nil
        }

        /// Whether the route at `index` accepts all methods and another route names the method in different letter
        /// case. Apps that ignore case, such as Django, would treat `delete` as DELETE.
        @inline(__always)
        private func isRespelt(_ method: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
            guard !self.names.isEmpty, self.routes[index].methods.isUnrestricted else { return false }
            return self.names.contains { name in
                name.withUnsafeBufferPointer { ByteClass.equalIgnoringCase($0, method) }
            }
        }

        /// Returns the demands of the route that accepts the method, or the demands of all routes if none does.
        func strictness(_ method: UnsafeBufferPointer<UInt8>) -> Strictness {
            self.route(method)?.strictness ?? self.strictness
        }
    }

    private let nodes: UnsafeMutableBufferPointer<Node>
    private let children: UnsafeMutableBufferPointer<Child>
    private let labels: UnsafeMutableBufferPointer<UInt8>
    private let leaves: UnsafeMutablePointer<Leaf>
    private let leafCount: Int
    /// The maximum number of segments of a pattern without `**`.
    private let exactDepth: Int

    init(_ routes: [(pattern: RoutePattern, entry: RouteEntry)]) {
        let root = Branch()
        for route in routes { root.insert(route) }
        var nodes: [Node] = []
        var children: [Child] = []
        var labels: [UInt8] = []
        var leaves: [Leaf] = []

        func leaf(_ found: [(pattern: RoutePattern, entry: RouteEntry)]) -> Int {
            guard let pattern = found.first?.pattern else { return -1 }
            let routes = found.map(\.entry)
            var strictness = Strictness()
            for route in routes { strictness.add(route.strictness) }
            let names = Set(routes.flatMap(\.methods.names))
            let ordered = routes.filter { !$0.methods.isUnrestricted } + routes.filter(\.methods.isUnrestricted)
            let takesAll = ordered.last?.methods.isUnrestricted == true
            leaves.append(
                Leaf(
                    pattern: pattern,
                    routes: ordered,
                    names: names.map { Array($0.utf8) },
                    strictness: strictness,
                    allow: (takesAll ? names.union(MethodSet.common) : names).sorted().joined(separator: ", ")
                )
            )
            return leaves.count - 1
        }

        func add(_ branch: Branch) -> Int {
            let index = nodes.count
            nodes.append(Node(exact: leaf(branch.exact), rest: leaf(branch.rest)))
            let literals = branch.literals.sorted { Self.precedes($0.key, $1.key) }
            // A node's children are adjacent, so they are all added before the children of any child.
            nodes[index].firstChild = children.count
            nodes[index].childCount = literals.count
            for (label, _) in literals {
                children.append(Child(label: labels.count, count: label.count, node: 0))
                labels += label
            }
            for (offset, literal) in literals.enumerated() {
                children[nodes[index].firstChild + offset].node = add(literal.value)
            }
            if let any = branch.any { nodes[index].any = add(any) }
            return index
        }

        _ = add(root)
        self.nodes = .allocate(capacity: nodes.count)
        _ = self.nodes.initialize(from: nodes)
        self.children = .allocate(capacity: children.count)
        _ = self.children.initialize(from: children)
        self.labels = .allocate(capacity: labels.count)
        _ = self.labels.initialize(from: labels)
        self.leaves = .allocate(capacity: leaves.count)
        for (index, leaf) in leaves.enumerated() { (self.leaves + index).initialize(to: leaf) }
        self.leafCount = leaves.count
        self.exactDepth = leaves.filter { !$0.pattern.hasRest }.map(\.pattern.segments.count).max() ?? 0
    }

    deinit {
        self.leaves.deinitialize(count: self.leafCount)
        self.leaves.deallocate()
        self.nodes.deallocate()
        self.children.deallocate()
        self.labels.deallocate()
    }

    /// Returns the leaf of the most specific pattern that matches a reading of a path. -1 if none exists.
    @inline(__always)
    func leaf(of path: UnsafeBufferPointer<UInt8>) -> Int {
        guard let base = path.baseAddress, !path.isEmpty else { return -1 }
        return self.find(0, base, path.count, 1)
    }

    /// Returns the route at a leaf that accepts the method. If none does, the result is 405: routes with more general
    /// patterns are not meant for this path.
    @inline(__always)
    func match(_ leaf: Int, _ method: UnsafeBufferPointer<UInt8>) -> RouteMatch {
        guard leaf >= 0 else { return .notFound }
        guard let route = self.leaves[leaf].route(method) else {
            return .methodNotAllowed(allow: self.leaves[leaf].allow)
        }
        return .route(Pinned(route))
    }

    /// Returns the leaf below node `index` for the rest of the path, from `start` on. -1 if none exists.
    private func find(_ index: Int, _ path: UnsafePointer<UInt8>, _ count: Int, _ start: Int) -> Int {
        let node = self.nodes[index]
        if start > count {
            if node.exact >= 0 { return node.exact }
        } else if node.childCount > 0 || node.any >= 0 {
            let end = PathSegments.end(path, from: start, count)
            let child = self.child(of: node, path + start, end - start)
            if child >= 0 {
                let found = self.find(child, path, count, end + 1)
                if found >= 0 { return found }
            }
            if node.any >= 0, end > start {
                let found = self.find(node.any, path, count, end + 1)
                if found >= 0 { return found }
            }
        }
        return node.rest
    }

    // MARK: Path info

    /// Judges a path that continues after the path of an exact route. Servers with path information (RFC 3875 4.1.5:
    /// CGI, FastCGI, PHP, Apache) run `/secret.php` for `/secret.php/x`.
    ///
    /// - Parameter route: The route at `leaf`.
    /// - Returns: `route`, a stricter route that the path must follow, or a rejection.
    func judgingPathInfo(
        _ route: RouteEntry,
        _ leaf: Int,
        _ path: UnsafeBufferPointer<UInt8>,
        _ method: UnsafeBufferPointer<UInt8>
    ) -> RouteMatch {
        var current = route
        var prefix = Prefix()
        while true {
            let script = self.nextScript(behind: &prefix, of: path, leaf)
            guard script >= 0 else { return .route(Pinned(current)) }
            guard !current.strictness.covers(self.leaves[script].strictness(method)) else { continue }
            let followed = self.leaves[script].route(method) ?? self.leaves[script].routes[0]
            guard followed.settings.pathInfo == .follow else { return .refused(.pathAmbiguous) }
            guard followed.methods.contains(method) else { return self.match(script, method) }
            // Neither route is enough: each has a demand that the other lacks.
            guard followed.strictness.covers(current.strictness) else { return .refused(.pathAmbiguous) }
            current = followed
        }
    }

    /// Whether these patterns lead a path to demands that `route` does not make.
    func demandsMore(
        than route: RouteEntry,
        _ path: UnsafeBufferPointer<UInt8>,
        _ method: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        let leaf = self.leaf(of: path)
        if leaf >= 0, !route.strictness.covers(self.leaves[leaf].strictness(method)) { return true }
        var prefix = Prefix()
        while true {
            let script = self.nextScript(behind: &prefix, of: path, leaf)
            if script < 0 { return false }
            if !route.strictness.covers(self.leaves[script].strictness(method)) { return true }
        }
    }

    /// The checked part of a path.
    private struct Prefix {
        var end = 1
        var depth = 0
    }

    /// Returns the leaf of the next exact pattern that the path continues. -1 if none exists.
    ///
    /// An exact pattern is skipped if the whole path's own pattern covers the rest explicitly, such as `/admin/login`
    /// beside `/admin`. `/admin/**` does not cover a lone slash, because most apps treat `/admin/` as `/admin`.
    ///
    /// The search ends at the depth of the deepest exact pattern.
    ///
    /// - Parameters:
    ///   - prefix: The last checked prefix. This call advances it.
    ///   - leaf: The leaf of the whole path. -1 if none exists.
    @inline(__always)
    private func nextScript(behind prefix: inout Prefix, of path: UnsafeBufferPointer<UInt8>, _ leaf: Int) -> Int {
        guard let base = path.baseAddress else { return -1 }
        while prefix.depth < self.exactDepth {
            prefix.end = PathSegments.end(base, from: prefix.end &+ 1, path.count)
            prefix.depth &+= 1
            guard prefix.end < path.count else { return -1 }
            let found = self.find(0, base, prefix.end, 1)
            guard found >= 0, !self.leaves[found].pattern.hasRest else { continue }
            let speaksForIt =
                leaf >= 0
                && self.leaves[leaf].pattern.goesOn(
                    behind: self.leaves[found].pattern,
                    bySlashOnly: prefix.end == path.count &- 1
                )
            if !speaksForIt { return found }
        }
        return -1
    }

    private func child(of node: Node, _ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int {
        var low = node.firstChild
        var high = node.firstChild + node.childCount
        while low < high {
            let middle = (low + high) / 2
            let child = self.children[middle]
            var order = child.count - count
            if order == 0, count > 0, let labels = self.labels.baseAddress {
                order = Int(memcmp(labels + child.label, bytes, count))
            }
            if order == 0 { return child.node }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return -1
    }

    private static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count ? left.lexicographicallyPrecedes(right) : left.count < right.count
    }
}

/// A node of a tree that is being built.
private final class Branch {
    var literals: [[UInt8]: Branch] = [:]
    var any: Branch?
    var exact: [(pattern: RoutePattern, entry: RouteEntry)] = []
    var rest: [(pattern: RoutePattern, entry: RouteEntry)] = []

    func insert(_ route: (pattern: RoutePattern, entry: RouteEntry)) {
        var branch = self
        for segment in route.pattern.segments { branch = branch.branch(segment) }
        if route.pattern.hasRest { branch.rest.append(route) } else { branch.exact.append(route) }
    }

    private func branch(_ segment: RoutePattern.Segment) -> Branch {
        switch segment {
        case .literal(let label):
            if let branch = self.literals[label] { return branch }
            let branch = Branch()
            self.literals[label] = branch
            return branch
        case .any:
            let branch = self.any ?? Branch()
            self.any = branch
            return branch
        }
    }
}
