/// The id of a trace (W3C Trace Context 3.2.2.3): 128 bits, not all zero.
@usableFromInline
package struct TraceID: Sendable, Hashable, CustomStringConvertible {
    @usableFromInline package let high: UInt64
    @usableFromInline package let low: UInt64

    /// nil for the id that is none: all zero.
    @inlinable @inline(__always)
    package init?(high: UInt64, low: UInt64) {
        guard high | low != 0 else { return nil }
        self.high = high
        self.low = low
    }

    /// The id in 32 hexadecimal digits in lower case; nil if the text is none.
    package init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.count == 32, let base = text.baseAddress, let high = TraceContext.number(base, digits: 16),
            let low = TraceContext.number(base + 16, digits: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    @usableFromInline package var description: String { TraceContext.text(self.high) + TraceContext.text(self.low) }
}

/// What a request says about the trace that it belongs to: its field `traceparent` (W3C Trace Context 3.2).
///
/// ```
/// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
/// version, trace id, id of the sender's span, flags
/// ```
package struct TraceContext: Sendable, Hashable {
    /// The length of the fields that version 00 has.
    package static let length = 55
    /// The flag by which the sender says that it may have recorded its span.
    package static let sampledFlag: UInt8 = 1

    package let trace: TraceID
    /// The span of the sender, never 0.
    package let span: UInt64
    package let flags: UInt8

    package init(trace: TraceID, span: UInt64, flags: UInt8) {
        self.trace = trace
        self.span = span
        self.flags = flags
    }

    /// Whether the sender may have recorded its span.
    @inline(__always)
    package var isSampled: Bool { self.flags & Self.sampledFlag != 0 }

    /// Reads the value of a field; nil for one that is malformed, which is as if it were not there (3.2.2.5 and 4.3).
    ///
    /// Of a version that is not known only the parts are read that version 00 has, and of its flags only the one for
    /// sampling (3.2.4): a later one may end with more, after a hyphen.
    package init?(_ value: UnsafeBufferPointer<UInt8>) {
        guard value.count >= Self.length, let base = value.baseAddress, base[2] == 0x2D, base[35] == 0x2D,
            base[52] == 0x2D, let version = Self.number(base, digits: 2), version != 0xFF
        else { return nil }
        if value.count > Self.length {
            guard version > 0, base[Self.length] == 0x2D else { return nil }
        }
        guard let high = Self.number(base + 3, digits: 16), let low = Self.number(base + 19, digits: 16),
            let trace = TraceID(high: high, low: low), let span = Self.number(base + 36, digits: 16), span != 0,
            let flags = Self.number(base + 53, digits: 2)
        else { return nil }
        self.trace = trace
        self.span = span
        let known = UInt8(truncatingIfNeeded: flags)
        self.flags = version == 0 ? known : known & Self.sampledFlag
    }

    /// The number in hexadecimal digits in lower case, 16 at most; nil if another byte is among them.
    @inline(__always)
    static func number(_ base: UnsafePointer<UInt8>, digits: Int) -> UInt64? {
        var number: UInt64 = 0
        for index in 0..<digits {
            let byte = base[index]
            let digit: UInt8
            if byte &- 0x30 < 10 {
                digit = byte &- 0x30
            } else if byte &- 0x61 < 6 {
                digit = byte &- 0x57
            } else {
                return nil
            }
            number = number &<< 4 | UInt64(digit)
        }
        return number
    }

    /// The 16 digits of a number.
    package static func text(_ number: UInt64) -> String {
        String(unsafeUninitializedCapacity: 16) { buffer in
            for index in 0..<16 {
                let digit = UInt8(truncatingIfNeeded: number &>> UInt64(60 &- 4 &* index)) & 0xF
                buffer[index] = digit < 10 ? 0x30 &+ digit : 0x57 &+ digit
            }
            return 16
        }
    }
}

/// Which traces are recorded. It is decided once for a request, by the id of its trace, so that all who ask the same of an id
/// agree.
@usableFromInline
package struct TraceSampler: Sendable, Equatable {
    /// Traces whose random bits are below this are not recorded; `TraceSampler.all`: none is recorded.
    @usableFromInline let threshold: UInt64
    /// Whether a span whose parent's sender has decided follows that decision.
    package let followsParent: Bool

    /// What the random bits, the last seven bytes of an id, are below.
    private static let all: UInt64 = 1 << 56

    /// - Parameter ratio: The share of traces that are recorded, from 0 to 1.
    package init(ratio: Double, followsParent: Bool) {
        let share = ratio.isFinite ? min(max(ratio, 0), 1) : 0
        self.threshold = Self.all - UInt64(share * Double(Self.all))
        self.followsParent = followsParent
    }

    /// Whether traces are begun: with a ratio of 0 only those of a parent are recorded.
    package var beginsTraces: Bool { self.threshold < Self.all }

    /// Whether anything is ever recorded.
    package var recordsAny: Bool { self.beginsTraces || self.followsParent }

    /// Whether a trace is recorded that begins here.
    ///
    /// - Parameter low: The second half of its id.
    @inlinable @inline(__always)
    package func samples(_ low: UInt64) -> Bool { low & (1 &<< 56 &- 1) >= self.threshold }

    /// Whether a span is recorded whose parent is `context`.
    @inline(__always)
    package func samples(below context: TraceContext) -> Bool {
        self.followsParent ? context.isSampled : self.samples(context.trace.low)
    }
}
