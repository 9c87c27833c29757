import Glibc

/// Finds the gateway's cookies in `Cookie` and removes them without changing other bytes. A class, because copies of a
/// struct would retain each name.
package final class OwnCookies: Sendable {
    private let session: [UInt8]
    private let handoff: [[UInt8]]
    private let attempt: [UInt8]
    private let handled: [UInt8]
    /// The name of the provider's session cookie. Empty if that cookie is ignored.
    private let provider: [UInt8]

    /// One of the gateway's or the provider's cookies in a `Cookie` field.
    package struct Cookie: Equatable {
        /// The value of the cookie. `nil` if the cookie is absent or ambiguous.
        package var value: Slice?
        package fileprivate(set) var isThere = false
        /// True if the cookie occurs with different values, perhaps from a sibling subdomain. `value` is then `nil`.
        /// Ambiguous session cookies are cleared.
        package fileprivate(set) var isAmbiguous = false

        /// Adds a value. Different values make the cookie ambiguous.
        @inline(__always)
        fileprivate mutating func add(_ value: Slice, _ base: Bytes) {
            if self.isThere, !OwnCookies.same(self.value, value, base) {
                self.isAmbiguous = true
                self.value = nil
            } else if !self.isAmbiguous {
                self.value = value
            }
            self.isThere = true
        }
    }

    /// The cookies of the gateway and the provider in one `Cookie` field.
    package struct Found: Equatable {
        package var session = Cookie()
        package var handoff = Cookie()
        package var attempt = Cookie()
        /// The cookie that marks handoff cookies as already handled.
        package var handled = Cookie()
        /// The provider's session cookie.
        package var provider = Cookie()
        /// True if the field contains other cookies of the gateway (`CompanionCookie`).
        package var hasCompanion = false

        package init() {}

        /// True if the field contains any cookie of the gateway or of the provider.
        package var hasAny: Bool {
            self.session.isThere || self.handoff.isThere || self.attempt.isThere || self.handled.isThere
                || self.provider.isThere || self.hasCompanion
        }
    }

    /// - Parameters:
    ///   - session: The name of the session cookie.
    ///   - handoff: The names of the cookies in which apps set a transfer token.
    ///   - attempt: The name of the attempt cookie (`AttemptCookie`). Begins with the session cookie's name and `-`.
    ///   - handled: The name of the cookie that marks handoff cookies as already handled. Begins like `attempt`.
    ///   - provider: The name of the provider's session cookie. `nil` if that cookie is ignored.
    package init(session: String, handoff: [String], attempt: String, handled: String, provider: String? = nil) {
        self.session = Array(session.utf8)
        self.handoff = handoff.map { Array($0.utf8) }
        self.attempt = Array(attempt.utf8)
        self.handled = Array(handled.utf8)
        self.provider = Array((provider ?? "").utf8)
    }

    /// The kinds of cookies that the gateway recognises.
    package enum Owner { case session, handoff, attempt, handled, companion, provider }

    /// Returns the owner and the value of a cookie-pair. `nil` if the cookie belongs to an app.
    @inline(__always)
    private func owner(_ base: Bytes, _ start: Int, _ end: Int) -> (owner: Owner, value: Slice)? {
        guard let equals = memchr(base + start, 0x3D, end - start) else { return nil }
        let valueStart = UnsafeRawPointer(equals) - UnsafeRawPointer(base) + 1
        let nameCount = valueStart - 1 - start
        let value = Slice(valueStart, end - valueStart)
        if nameCount >= self.session.count, Self.isName(self.session, base + start, self.session.count) {
            if nameCount == self.session.count { return (.session, value) }
            if base[start &+ self.session.count] == UInt8(ascii: "-") {
                if Self.isName(self.attempt, base + start, nameCount) { return (.attempt, value) }
                if Self.isName(self.handled, base + start, nameCount) { return (.handled, value) }
                return (.companion, value)
            }
        }
        for name in self.handoff where Self.isName(name, base + start, nameCount) { return (.handoff, value) }
        if nameCount > 0, Self.isName(self.provider, base + start, nameCount) { return (.provider, value) }
        return nil
    }

    @inline(__always)
    private static func isName(_ name: [UInt8], _ bytes: Bytes, _ count: Int) -> Bool {
        count == name.count && name.withUnsafeBufferPointer { memcmp($0.baseAddress!, bytes, count) == 0 }
    }

    /// Returns the trimmed bounds of the cookie-pair at `start`, and the position after the pair.
    @inline(__always)
    private static func pair(_ base: Bytes, _ start: Int, _ end: Int) -> (first: Int, last: Int, next: Int) {
        var next = end
        if let semicolon = memchr(base + start, 0x3B, end - start) {
            next = UnsafeRawPointer(semicolon) - UnsafeRawPointer(base)
        }
        var first = start
        var last = next
        while first < last, base[first] == 0x20 || base[first] == 0x09 { first &+= 1 }
        while last > first, base[last &- 1] == 0x20 || base[last &- 1] == 0x09 { last &-= 1 }
        return (first, last, next)
    }

    /// Returns the cookies of the gateway and the provider in the field value `field`.
    package func find(in field: Slice, _ base: Bytes) -> Found {
        var found = Found()
        var position = field.start
        while position < field.end {
            let pair = Self.pair(base, position, field.end)
            if let (owner, value) = self.owner(base, pair.first, pair.last) {
                switch owner {
                case .session: found.session.add(value, base)
                case .handoff: found.handoff.add(value, base)
                case .attempt: found.attempt.add(value, base)
                case .handled: found.handled.add(value, base)
                case .provider: found.provider.add(value, base)
                case .companion: found.hasCompanion = true
                }
            }
            position = pair.next + 1
        }
        return found
    }

    /// Calls `take` for each companion cookie (`CompanionCookie`) in `field`. The label is the rest of the cookie's
    /// name after the session cookie's name and `-`.
    package func forEachCompanion(in field: Slice, _ base: Bytes, _ take: (_ label: Slice, _ value: Slice) -> Void) {
        var position = field.start
        while position < field.end {
            let pair = Self.pair(base, position, field.end)
            if let (owner, value) = self.owner(base, pair.first, pair.last), owner == .companion {
                let start = pair.first + self.session.count + 1
                take(Slice(start, value.start - 1 - start), value)
            }
            position = pair.next + 1
        }
    }

    /// Returns the distinct values of the handoff cookies in `field`.
    package func handoffValues(in field: Slice, _ base: Bytes) -> [Slice] {
        var values: [Slice] = []
        self.forEachValue(of: .handoff, in: field, base) { value in
            if !values.contains(where: { Self.same($0, value, base) }) { values.append(value) }
        }
        return values
    }

    /// Calls `take` with each value of the cookies of the kind `wanted` in `field`.
    package func forEachValue(of wanted: Owner, in field: Slice, _ base: Bytes, _ take: (Slice) -> Void) {
        var position = field.start
        while position < field.end {
            let pair = Self.pair(base, position, field.end)
            if let (owner, value) = self.owner(base, pair.first, pair.last), owner == wanted { take(value) }
            position = pair.next + 1
        }
    }

    fileprivate static func same(_ known: Slice?, _ value: Slice, _ base: Bytes) -> Bool {
        guard let known, known.length == value.length else { return false }
        return memcmp(base + known.start, base + value.start, value.length) == 0
    }

    /// Calls `keep`, in order, with each run of bytes in `field` that is forwarded.
    ///
    /// - Parameters:
    ///   - dropsHandoff: True to remove handoff cookies. False on routes where they belong to the app.
    ///   - dropsProviders: True to remove the provider's session cookie. False on routes that do not judge the cookie.
    package func forEachForwardedRun(
        of field: Slice,
        _ base: Bytes,
        dropsHandoff: Bool,
        dropsProviderCookie: Bool,
        _ keep: (Slice) -> Void
    ) {
        var position = field.start
        var hasExisted = false
        while position < field.end {
            let pair = Self.pair(base, position, field.end)
            var isOurs = false
            if let (owner, _) = self.owner(base, pair.first, pair.last) {
                isOurs =
                    switch owner {
                    case .handoff: dropsHandoff
                    case .provider: dropsProviderCookie
                    case .session, .attempt, .handled, .companion: true
                    }
            }
            if !isOurs {
                // The first kept pair has no separator before it. Later pairs keep their `; `.
                let start = hasExisted ? position - 1 : (position == field.start ? position : pair.first)
                keep(Slice(start, pair.next - start))
                hasExisted = true
            }
            position = pair.next + 1
        }
    }
}

extension RequestHead {
    /// Selects the `Cookie` line that contains the gateway's cookies. Returns false if several lines do, because
    /// readers could choose different lines.
    package func findOwnCookies(_ cookies: OwnCookies, in base: Bytes) -> Bool {
        guard self.hasSeveralCookies else { return true }
        var hasFound = false
        for index in 0..<self.fields.count where self.fields[index].role == .cookie {
            guard cookies.find(in: self.fields[index].value, base).hasAny else { continue }
            if hasFound { return false }
            hasFound = true
            self.choose(index, as: .cookie)
        }
        return true
    }
}
