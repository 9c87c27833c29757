package import SignOn

extension AttemptCookie {
    /// The parts of an attempt cookie's value.
    package struct Parts: Equatable {
        package var secret: Slice
        /// The transfer token in the cookie. `nil` if the cookie contains none.
        package var token: Slice?
        /// The proof that the user confirmed the token. `nil` if the cookie contains no proof.
        package var confirmed: Confirmation?
    }

    /// How a confirmed token arrived, and the proof of the confirmation.
    package struct Confirmation: Equatable {
        package var transport: HandoffTransport
        package var mark: Slice

        package func copy(_ base: Bytes) -> ConfirmedToken {
            ConfirmedToken(transport: self.transport, mark: Array(self.mark.bytes(in: base)))
        }
    }

    /// Returns the parts of `value`. A token with invalid syntax is ignored.
    package static func parts(of value: Slice, _ base: Bytes) -> Parts {
        let bytes = value.bytes(in: base)
        let ends = bytes.split(separator: Self.separator, maxSplits: 3, omittingEmptySubsequences: false)
        var parts = Parts(secret: Slice(value.start, ends[0].count))
        guard ends.count > 1, Self.canHold(ends[1]) else { return parts }
        if ends.count > 2 {
            guard ends.count == 4,
                let transport = HandoffTransport.allCases.first(where: { ends[2].elementsEqual($0.rawValue.utf8) })
            else { return parts }
            let mark = Slice(value.start + ends[3].startIndex, ends[3].count)
            parts.confirmed = Confirmation(transport: transport, mark: mark)
        }
        parts.token = Slice(value.start + ends[1].startIndex, ends[1].count)
        return parts
    }
}
