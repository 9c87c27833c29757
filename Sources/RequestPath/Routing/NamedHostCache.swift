/// The hosts of the names that clients of one loop have asked wildcards for lately.
///
/// A name has one place, and the last one there stays: whatever names a client asks for, the memory is bounded, and what a
/// name costs that is not kept is one small host, made from its wildcard.
package final class NamedHostCache {
    /// A power of two.
    static let capacity = 256
    private var hosts = [HostEntry?](repeating: nil, count: NamedHostCache.capacity)

    package init() {}

    /// The number of hosts that are kept.
    package var count: Int { self.hosts.count { $0 != nil } }

    /// The host of a wildcard's name; nil: the name is too long.
    ///
    /// - Parameter label: What stands for the `*`; it fits (`HostLabel`).
    func host(_ wildcard: HostEntry, _ label: UnsafeBufferPointer<UInt8>) -> HostEntry? {
        // Keyed, so that no client chooses whose place it takes.
        var hasher = Hasher()
        hasher.combine(wildcard.index)
        hasher.combine(bytes: UnsafeRawBufferPointer(label))
        let place = hasher.finalize() & (Self.capacity - 1)
        if let kept = self.hosts[place], let name = kept.name, name.wildcard === wildcard,
            name.label.elementsEqual(label)
        {
            return kept
        }
        guard let made = HostEntry(wildcard, named: label) else { return nil }
        self.hosts[place] = made
        return made
    }

    /// Lets go of all, after a reload.
    func removeAll() {
        for index in self.hosts.indices { self.hosts[index] = nil }
    }
}
