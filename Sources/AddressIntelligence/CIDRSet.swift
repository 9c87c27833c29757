/// A set of address blocks, for example the trusted proxies. A lookup takes logarithmic time and allocates nothing.
package struct CIDRSet: Sendable {
    private let table: PrefixTable<Bool>

    /// The union of `blocks`; they may overlap.
    package init(_ blocks: some Sequence<CIDRBlock>) {
        self.table = PrefixTable(blocks.map { ($0, true) })
    }

    /// Whether some block of the set contains `address`.
    package func contains(_ address: IPAddress) -> Bool {
        self.table.value(for: address) != nil
    }
}
