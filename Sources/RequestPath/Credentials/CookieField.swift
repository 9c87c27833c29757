#if canImport(Glibc)
import Glibc
#endif

/// The gateway's cookies: found in one pass over `Cookie`, and removed from it without changing other bytes. A reference,
/// because a copy would count references to each name.
package final class OwnCookies: Sendable {
    private let session: [UInt8]
    private let handoff: [[UInt8]]
    private let attempt: [UInt8]
    private let handled: [UInt8]
    /// Empty if the provider has no cookie that counts.
    private let provider: [UInt8]

    /// One of the cookies in a `Cookie` field.
    package struct Cookie: Equatable {
        /// nil when it is absent or ambiguous.
        package var value: Slice?
        package fileprivate(set) var isThere = false
        /// The same name occurs with different values, which a sibling subdomain can cause: none is used, all are
        /// cleared.
        package fileprivate(set) var isAmbiguous = false

        /// Adds one more value: if it differs from the previous one, the cookie has none.
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

    /// The gateway's cookies in one `Cookie` field.
    package struct Found: Equatable {
        package var session = Cookie()
        package var handoff = Cookie()
        package var attempt = Cookie()
        /// Marks handoff cookies as dealt with.
        package var handled = Cookie()
        /// The provider's own session cookie.
        package var provider = Cookie()
        /// Whether there are other cookies of the gateway (`CompanionCookie`).
        package var hasCompanion = false

        package init() {}

        /// Whether there is any cookie of the gateway or of the provider.
        package var hasAny: Bool {
            self.session.isThere || self.handoff.isThere || self.attempt.isThere || self.handled.isThere
                || self.provider.isThere || self.hasCompanion
        }
    }

    /// - Parameters:
    ///   - session: The name of the session cookie.
    ///   - handoff: The names under which apps set a transfer token.
    ///   - attempt: The name of the cookie that repeats a handoff. This name and the next begin with the session
    ///     cookie's and `-`, as those of all other cookies of the gateway do.
    ///   - handled: The name of the cookie that marks handoff cookies as dealt with.
    ///   - provider: The name of the provider's own session cookie; nil: none counts.
    package init(session: String, handoff: [String], attempt: String, handled: String, provider: String? = nil) {
        self.session = Array(session.utf8)
        self.handoff = handoff.map { Array($0.utf8) }
        self.attempt = Array(attempt.utf8)
        self.handled = Array(handled.utf8)
        self.provider = Array((provider ?? "").utf8)
    }

    /// Which of these cookies one is.
    package enum Owner { case session, handoff, attempt, handled, companion, provider }

    /// Which cookie the cookie-pair in `pair` is, and where its value begins.
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

    /// The end of the cookie-pair that begins at `start`, and its bounds without surrounding spaces.
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

    /// Finds the gateway's cookies in the field value `field` of the buffer at `base`.
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

    /// Calls `take` with the label and the value of each of the gateway's other cookies in `field`: the label is the rest
    /// of the name after the session cookie's name and `-`.
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

    /// The different values of the handoff cookies in `field`. Only for the few requests that have any.
    package func handoffValues(in field: Slice, _ base: Bytes) -> [Slice] {
        var values: [Slice] = []
        self.forEachValue(of: .handoff, in: field, base) { value in
            if !values.contains(where: { Self.same($0, value, base) }) { values.append(value) }
        }
        return values
    }

    /// Calls `take` with each value of the cookie in `field`.
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

    /// Calls `keep` with each run of bytes of `field` that is not the gateway's, in order, separators included.
    ///
    /// - Parameters:
    ///   - dropsHandoff: False on routes where the handoff cookie belongs to the app.
    ///   - dropsProviders: False on routes where the provider's own cookie is not judged.
    package func forEachKept(
        of field: Slice,
        _ base: Bytes,
        dropsHandoff: Bool,
        dropsProviders: Bool,
        _ keep: (Slice) -> Void
    ) {
        var position = field.start
        var hasKept = false
        while position < field.end {
            let pair = Self.pair(base, position, field.end)
            var isOurs = false
            if let (owner, _) = self.owner(base, pair.first, pair.last) {
                isOurs =
                    switch owner {
                    case .handoff: dropsHandoff
                    case .provider: dropsProviders
                    case .session, .attempt, .handled, .companion: true
                    }
            }
            if !isOurs {
                // The first kept pair loses the separator between it and the gateway's cookie before it; later ones
                // keep their `; `.
                let start = hasKept ? position - 1 : (position == field.start ? position : pair.first)
                keep(Slice(start, pair.next - start))
                hasKept = true
            }
            position = pair.next + 1
        }
    }
}

extension RequestHead {
    /// Makes the only `Cookie` line that has cookies of the gateway the one that `line(.cookie)` finds. False: two lines have
    /// some, and readers could pick different ones.
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
