package import AddressIntelligence
package import Settings

/// Finds the client's address: the peer's address, or the address that trusted proxies report.
package struct ClientAddressRule: Sendable {
    private let trusted: CIDRSet
    private let hasTrusted: Bool
    package let header: ForwardedHeader

    package init(trusted blocks: [CIDRBlock], header: ForwardedHeader) {
        self.trusted = CIDRSet(blocks)
        self.hasTrusted = !blocks.isEmpty
        self.header = header
    }

    /// Whether the forwarding fields of `peer` are trusted.
    @inline(__always)
    package func trusts(_ peer: IPAddress) -> Bool {
        self.hasTrusted && self.trusted.contains(peer)
    }

    /// Returns the right-most address that is not a trusted proxy. A client can invent everything to the left of it
    /// (oauth2-proxy PR #3478). If an element is not an address, returns the proxy that wrote the element. If all
    /// addresses are trusted, returns the left-most one.
    ///
    /// Lists are read from their ends: nothing that a client puts before a trusted proxy's element, such as an open
    /// quote, can change the element.
    ///
    /// - Parameter values: The values of the configured field, in the order of its lines.
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

    /// Returns the client's address from the fields of `head`, by the rules of `client(peer:values:)`.
    package func client(of head: RequestHead, _ base: Bytes, peer: IPAddress) -> IPAddress {
        let role: FieldRole = self.header == .xForwardedFor ? .forwardedFor : .forwarded
        var values: [UnsafeBufferPointer<UInt8>] = []
        for index in 0..<head.fields.count where head.fields[index].role == role {
            values.append(head.fields[index].value.bytes(in: base))
        }
        return self.client(peer: peer, values: values)
    }

    /// Returns the start of the element that ends at `end`, after the preceding comma. Commas within quotes of a
    /// `Forwarded` field are ignored.
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
