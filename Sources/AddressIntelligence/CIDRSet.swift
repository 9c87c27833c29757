/// A set of address blocks, for example the trusted proxies. A lookup takes logarithmic time and allocates nothing.
package struct CIDRSet: Sendable {
    private let table: PrefixTable<Bool>

    /// Makes the union of `blocks`, which may overlap.
    package init(_ blocks: some Sequence<CIDRBlock>) {
        self.table = PrefixTable(blocks.map { ($0, true) })
    }

    /// Returns true if a block of the set contains `address`.
    package func contains(_ address: IPAddress) -> Bool {
        self.table.value(for: address) != nil
    }
}
