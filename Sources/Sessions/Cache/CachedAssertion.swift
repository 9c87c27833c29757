package import Vocabulary

/// A signed assertion of a session for one audience, as a header line. Its times are by the machine's clock, because
/// apps compare them with their own clocks.
package struct CachedAssertion: Sendable {
    /// The line of the header field with its CRLF.
    package let line: ContiguousArray<UInt8>
    /// The number that the configuration gives to the audience.
    package let audience: Int
    private let madeAt: UnixTime
    /// The time from which the assertion is not sent.
    package let servesUntil: UnixTime
    /// The time from which a use starts the making of the next assertion.
    package fileprivate(set) var renewAt: UnixTime

    package init(
        line: ContiguousArray<UInt8>,
        audience: Int,
        madeAt: UnixTime,
        renewAt: UnixTime,
        servesUntil: UnixTime
    ) {
        self.line = line
        self.audience = audience
        self.madeAt = madeAt
        self.renewAt = renewAt
        self.servesUntil = servesUntil
    }

    /// Reports whether the assertion may be sent. False after the clock was set back, because apps would reject it.
    fileprivate func serves(at now: UnixTime) -> Bool { now >= self.madeAt && now < self.servesUntil }
}

/// The assertions of one session, one for each recently used audience.
struct CachedAssertions {
    /// The maximum number of assertions. Each host of a wildcard is an audience, so a client could cause any number.
    static let most = 16
    /// The assertions, the oldest first.
    private var assertions: [CachedAssertion] = []

    /// Returns the header line for an audience; `nil` if it has no assertion that may be sent. `isDue` is true once per
    /// assertion, at the first use after `renewAt`.
    @inline(__always)
    mutating func use(for audience: Int, at now: UnixTime) -> (line: ContiguousArray<UInt8>, isDue: Bool)? {
        for index in self.assertions.indices where self.assertions[index].audience == audience {
            guard self.assertions[index].serves(at: now) else { return nil }
            let isDue = now >= self.assertions[index].renewAt
            if isDue { self.assertions[index].renewAt = UnixTime(milliseconds: .max) }
            return (self.assertions[index].line, isDue)
        }
        return nil
    }

    /// Adds an assertion. Drops the earlier one for its audience and all that may not be sent now. If there are still
    /// too many, drops the oldest.
    mutating func keep(_ assertion: CachedAssertion, at now: UnixTime) {
        self.assertions.removeAll { $0.audience == assertion.audience || !$0.serves(at: now) }
        if self.assertions.count >= Self.most { self.assertions.removeFirst() }
        self.assertions.append(assertion)
    }
}
