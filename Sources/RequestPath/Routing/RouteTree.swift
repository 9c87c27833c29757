#if canImport(Glibc)
import Glibc
#endif

/// The routes of one host by segments: a literal before `*` before `**`, so the order of the file does not matter.
///
/// A walk looks at each byte of the path once per branch that the patterns really have; the path cannot make it longer.
final class RouteTree: @unchecked Sendable {
    // Immutable after init; the memory goes with the object.
    private struct Node {
        /// The literal children, ordered by length and bytes.
        var firstChild = 0
        var childCount = 0
        /// Where `*` leads; -1: nowhere.
        var any = -1
        /// The leaf of a path that ends here; -1: none.
        var exact = -1
        /// The leaf of `**`; -1: none.
        var rest = -1
    }

    private struct Child {
        var label: Int
        var count: Int
        var node: Int
    }

    /// The routes with one pattern: those with methods before the one without.
    private struct Leaf {
        var routes: [RouteEntry]
        var strictness: Strictness
        var allow: String
    }

    private let nodes: UnsafeMutableBufferPointer<Node>
    private let children: UnsafeMutableBufferPointer<Child>
    private let labels: UnsafeMutableBufferPointer<UInt8>
    private let leaves: ContiguousArray<Leaf>

    init(_ routes: [(pattern: RoutePattern, entry: RouteEntry)]) {
        let root = Branch()
        for route in routes { root.insert(route.entry, route.pattern) }
        var nodes: [Node] = []
        var children: [Child] = []
        var labels: [UInt8] = []
        var leaves: ContiguousArray<Leaf> = []

        func leaf(_ routes: [RouteEntry]) -> Int {
            if routes.isEmpty { return -1 }
            var strictness = Strictness()
            for route in routes { strictness.add(route.strictness) }
            let names = Set(routes.filter { !$0.methods.isUnrestricted }.flatMap(\.methods.names)).sorted()
            let ordered = routes.filter { !$0.methods.isUnrestricted } + routes.filter(\.methods.isUnrestricted)
            let takesAll = ordered.last?.methods.isUnrestricted == true
            leaves.append(
                Leaf(
                    routes: ordered,
                    strictness: strictness,
                    allow: (takesAll ? MethodSet.common : names).joined(separator: ", ")
                )
            )
            return leaves.count - 1
        }

        func add(_ branch: Branch) -> Int {
            let index = nodes.count
            nodes.append(Node(exact: leaf(branch.exact), rest: leaf(branch.rest)))
            let literals = branch.literals.sorted { Self.precedes($0.key, $1.key) }
            // Children lie side by side, so their places are taken before their own children are added.
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
        self.leaves = leaves
    }

    deinit {
        self.nodes.deallocate()
        self.children.deallocate()
        self.labels.deallocate()
    }

    /// The route for a method and a reading of a path.
    @inline(__always)
    func match(
        _ path: UnsafeBufferPointer<UInt8>,
        _ method: UnsafeBufferPointer<UInt8>
    ) -> RouteMatch {
        guard let base = path.baseAddress, !path.isEmpty else { return .notFound }
        var walk = Walk(path: base, count: path.count, method: method)
        guard let route = self.find(0, 1, &walk) else {
            return walk.skipped < 0 ? .notFound : .methodNotAllowed(allow: self.leaves[walk.skipped].allow)
        }
        if walk.skipped >= 0, !route.strictness.covers(walk.closed) {
            return .methodNotAllowed(allow: self.leaves[walk.skipped].allow)
        }
        return .route(route)
    }

    private struct Walk {
        let path: UnsafePointer<UInt8>
        let count: Int
        let method: UnsafeBufferPointer<UInt8>
        /// The first leaf whose path matched and whose methods did not.
        var skipped = -1
        /// What all such leaves close.
        var closed = Strictness()
    }

    /// - Parameter start: where the next segment begins; beyond the end when there is none.
    private func find(_ index: Int, _ start: Int, _ walk: inout Walk) -> RouteEntry? {
        let node = self.nodes[index]
        if start > walk.count {
            if let route = self.take(node.exact, &walk) { return route }
        } else if node.childCount > 0 || node.any >= 0 {
            let end = PathSegments.end(walk.path, from: start, walk.count)
            let child = self.child(of: node, walk.path + start, end - start)
            if child >= 0, let route = self.find(child, end + 1, &walk) { return route }
            if node.any >= 0, end > start, let route = self.find(node.any, end + 1, &walk) { return route }
        }
        return self.take(node.rest, &walk)
    }

    @inline(__always)
    private func take(_ leaf: Int, _ walk: inout Walk) -> RouteEntry? {
        guard leaf >= 0 else { return nil }
        for route in self.leaves[leaf].routes where route.methods.contains(walk.method) { return route }
        if walk.skipped < 0 { walk.skipped = leaf }
        walk.closed.add(self.leaves[leaf].strictness)
        return nil
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

/// The tree while it is built.
private final class Branch {
    var literals: [[UInt8]: Branch] = [:]
    var any: Branch?
    var exact: [RouteEntry] = []
    var rest: [RouteEntry] = []

    func insert(_ route: RouteEntry, _ pattern: RoutePattern) {
        var branch = self
        for segment in pattern.segments { branch = branch.branch(segment) }
        if pattern.hasRest { branch.rest.append(route) } else { branch.exact.append(route) }
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
