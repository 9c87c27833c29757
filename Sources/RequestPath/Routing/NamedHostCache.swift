/// Caches the hosts for wildcard names that clients of one loop requested recently.
///
/// Each name maps to one slot, and each slot keeps one host, so memory is bounded.
package final class NamedHostCache {
    /// The number of slots, a power of two.
    static let capacity = 256
    private var hosts = [HostEntry?](repeating: nil, count: NamedHostCache.capacity)

    package init() {}

    /// The number of cached hosts.
    package var count: Int { self.hosts.count { $0 != nil } }

    /// Returns the host of a wildcard's name. Returns `nil` if the name is too long.
    ///
    /// - Parameter label: A valid label (`HostLabel`) that replaces the `*`.
    func host(_ wildcard: HostEntry, _ label: UnsafeBufferPointer<UInt8>) -> HostEntry? {
        // The hash is keyed, so a client cannot choose which slot it overwrites.
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

    /// Removes all hosts, after a reload.
    func removeAll() {
        for index in self.hosts.indices { self.hosts[index] = nil }
    }
}
