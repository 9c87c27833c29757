package import Vocabulary

/// A signed assertion of a session for one audience, ready to be copied into requests. Its times are those of the
/// machine's clock, with which verifiers compare them.
package struct CachedAssertion: Sendable {
    /// The field's line with its CRLF.
    package let line: ContiguousArray<UInt8>
    /// The number of the audience in the configuration.
    package let audience: Int
    private let madeAt: UnixTime
    /// It is sent before this time only.
    package let servesUntil: UnixTime
    /// From this time on, a use asks for the next one.
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

    /// False also after the clock was set back: verifiers would refuse an assertion from the future.
    fileprivate func serves(at now: UnixTime) -> Bool { now >= self.madeAt && now < self.servesUntil }
}

/// The assertions of one session: one for each audience that was asked for lately.
struct CachedAssertions {
    /// Each name of a wildcard is an audience, so whoever has the token could ask for any number of them.
    static let most = 16
    /// The oldest first.
    private var assertions: [CachedAssertion] = []

    /// The line for an audience; nil if there is none that may be sent. `isDue` is true once for each assertion: at the
    /// first use from `renewAt` on.
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

    /// Keeps an assertion in the place of the former one for its audience. Those that are too old are dropped, so that
    /// a session that visits many apps keeps few; where there are many all the same, the oldest gives way.
    mutating func keep(_ assertion: CachedAssertion, at now: UnixTime) {
        self.assertions.removeAll { $0.audience == assertion.audience || !$0.serves(at: now) }
        if self.assertions.count >= Self.most { self.assertions.removeFirst() }
        self.assertions.append(assertion)
    }
}
