/// A host name to resolve, with the port for its addresses.
package struct HostName: Hashable, Sendable {
    package let host: String
    package let port: Int

    package init(_ host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

/// Decides which name is resolved next, and on which lane. A lane resolves one name at a time. The queue has no threads
/// and no clock.
///
/// Each name is queued once. Awaited names come before names that are only refreshed. The first lane resolves awaited
/// names only, so that refreshes cannot block every lane while name servers do not answer.
package struct LookupQueue {
    private var awaited: [HostName] = []
    private var others: [HostName] = []
    private var running: Set<HostName> = []
    private var isBusy: [Bool]

    /// - Parameter lanes: The number of lanes, at least one. A single lane resolves all names.
    package init(lanes: Int) {
        self.isBusy = Array(repeating: false, count: max(lanes, 1))
    }

    /// Adds a name.
    ///
    /// - Parameter isAwaited: True if a caller waits for the addresses.
    /// - Returns: The idle lane that must now call `next(of:)`. `nil` if no lane is idle, or the name is already
    ///   awaited or being resolved.
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

    /// Returns the next name for a lane. If no name is left, returns `nil` and marks the lane as idle.
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

    /// Records that the lookup of a name has ended, with or without success.
    package mutating func finished(_ name: HostName) {
        self.running.remove(name)
    }
}
