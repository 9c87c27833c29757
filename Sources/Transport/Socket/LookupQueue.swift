/// A host of which the addresses are wanted.
package struct HostName: Hashable, Sendable {
    package let host: String
    package let port: Int

    package init(_ host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

/// Decides which name is resolved next, and by which of some lanes, each of which resolves one name at a time. It has no
/// threads and no clock.
///
/// Each name is in it once. One for which somebody waits is resolved before those that are only resolved again, and the
/// first lane resolves no others: while name servers do not answer, no more than the other lanes wait for them for nothing.
package struct LookupQueue {
    private var awaited: [HostName] = []
    private var others: [HostName] = []
    private var running: Set<HostName> = []
    private var isBusy: [Bool]

    /// - Parameter lanes: One or more. A single lane resolves all names.
    package init(lanes: Int) {
        self.isBusy = Array(repeating: false, count: max(lanes, 1))
    }

    /// Adds a name.
    ///
    /// - Parameter isAwaited: Somebody waits for it.
    /// - Returns: A lane that has been idle and begins with `next(of:)`; nil: no lane is free for it.
    package mutating func add(_ name: HostName, isAwaited: Bool) -> Int? {
        guard !self.running.contains(name), !self.awaited.contains(name) else { return nil }
        if isAwaited {
            self.others.removeAll { $0 == name }
            self.awaited.append(name)
        } else if !self.others.contains(name) {
            self.others.append(name)
        }
        let lane = self.isBusy.indices.first { !self.isBusy[$0] && (isAwaited || self.takesAll($0)) }
        if let lane { self.isBusy[lane] = true }
        return lane
    }

    private func takesAll(_ lane: Int) -> Bool { lane > 0 || self.isBusy.count == 1 }

    /// The next name for a lane; nil: there is none, and the lane is idle.
    package mutating func next(of lane: Int) -> HostName? {
        let name: HostName
        if !self.awaited.isEmpty {
            name = self.awaited.removeFirst()
        } else if self.takesAll(lane), !self.others.isEmpty {
            name = self.others.removeFirst()
        } else {
            self.isBusy[lane] = false
            return nil
        }
        self.running.insert(name)
        return name
    }

    /// Called when a name has been resolved, or cannot be.
    package mutating func finished(_ name: HostName) {
        self.running.remove(name)
    }
}
