package import AddressIntelligence
package import Settings

/// Whose request it is: the peer, or what trusted peers say of it.
package struct ClientAddressRule: Sendable {
    private let trusted: CIDRSet
    private let hasTrusted: Bool
    package let header: ForwardedHeader

    package init(trusted blocks: [CIDRBlock], header: ForwardedHeader) {
        self.trusted = CIDRSet(blocks)
        self.hasTrusted = !blocks.isEmpty
        self.header = header
    }

    /// True when the fields of this peer are believed.
    @inline(__always)
    package func trusts(_ peer: IPAddress) -> Bool {
        self.hasTrusted && self.trusted.contains(peer)
    }

    /// The right-most hop that is not one of ours: whoever wrote what stands left of it could have made it up
    /// (oauth2-proxy PR #3478). A hop that is no address ends the walk at the last good one: the proxy that
    /// wrote it stands for its clients, and never an address that one of them chose.
    ///
    /// The lists are read from their ends: what a client put before a trusted proxy's own element, an open quote for
    /// instance, cannot change how that element is read. Allocates nothing.
    ///
    /// - Parameter values: the values of the configured field, in the order of its lines.
    package func client(
        peer: IPAddress,
        values: some BidirectionalCollection<UnsafeBufferPointer<UInt8>>
    ) -> IPAddress {
        guard self.trusts(peer) else { return peer }
        var last = peer
        for value in values.reversed() {
            var end = value.count
            while end >= 0 {
                let start = self.elementStart(value, end)
                let element = ByteClass.trimmed(UnsafeBufferPointer(rebasing: value[start..<end]))
                end = start - 1
                // "a recipient MUST parse and ignore a reasonable number of empty list elements" (RFC 9110 5.6.1.2).
                if element.isEmpty { continue }
                guard let address = self.address(of: element) else { return last }
                last = address
                if !self.trusted.contains(address) { return address }
            }
        }
        return last
    }

    /// The same for the fields of `head`.
    package func client(of head: RequestHead, _ base: Bytes, peer: IPAddress) -> IPAddress {
        let role: FieldRole = self.header == .xForwardedFor ? .forwardedFor : .forwarded
        var values: [UnsafeBufferPointer<UInt8>] = []
        for index in 0..<head.fields.count where head.fields[index].role == role {
            values.append(head.fields[index].value.bytes(in: base))
        }
        return self.client(peer: peer, values: values)
    }

    /// Where the element that ends at `end` begins: after the comma before it. In `Forwarded` a comma within quotes
    /// separates nothing.
    private func elementStart(_ value: UnsafeBufferPointer<UInt8>, _ end: Int) -> Int {
        var index = end
        var isQuoted = false
        while index > 0 {
            let byte = value[index - 1]
            if byte == UInt8(ascii: "\""), self.header == .forwarded { isQuoted.toggle() }
            if byte == UInt8(ascii: ","), !isQuoted { break }
            index -= 1
        }
        return index
    }

    private func address(of element: UnsafeBufferPointer<UInt8>) -> IPAddress? {
        switch self.header {
        case .xForwardedFor: ForwardedField.address(element)
        case .forwarded: ForwardedField.node(in: element).flatMap { ForwardedField.address($0) }
        }
    }
}
