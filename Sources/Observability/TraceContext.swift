/// The id of a trace (W3C Trace Context 3.2.2.3): 128 bits, not all zero.
@usableFromInline
package struct TraceID: Sendable, Hashable, CustomStringConvertible {
    @usableFromInline package let high: UInt64
    @usableFromInline package let low: UInt64

    /// `nil` if both halves are 0.
    @inlinable @inline(__always)
    package init?(high: UInt64, low: UInt64) {
        guard high | low != 0 else { return nil }
        self.high = high
        self.low = low
    }

    /// Reads an id; `nil` unless the text is 32 lower-case hexadecimal digits, not all 0.
    package init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard text.count == 32, let base = text.baseAddress, let high = TraceContext.number(base, digits: 16),
            let low = TraceContext.number(base + 16, digits: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    @usableFromInline package var description: String { TraceContext.text(self.high) + TraceContext.text(self.low) }
}

/// The trace and parent span of a request, from its header `traceparent` (W3C Trace Context 3.2).
///
/// ```
/// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
/// version, trace id, id of the sender's span, flags
/// ```
package struct TraceContext: Sendable, Hashable {
    /// The length of a value of version 00.
    package static let length = 55
    /// The `sampled` flag: the sender may have recorded its span.
    package static let sampledFlag: UInt8 = 1

    package let trace: TraceID
    /// The id of the sender's span, never 0.
    package let span: UInt64
    package let flags: UInt8

    package init(trace: TraceID, span: UInt64, flags: UInt8) {
        self.trace = trace
        self.span = span
        self.flags = flags
    }

    /// True if the sender may have recorded its span.
    @inline(__always)
    package var isSampled: Bool { self.flags & Self.sampledFlag != 0 }

    /// Reads the value of `traceparent`; `nil` if it is malformed and must be ignored (3.2.2.5 and 4.3).
    ///
    /// Versions after 00 may have further parts after a hyphen. Of these versions, only the ids and the sampled flag
    /// are used (3.2.4).
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

    /// Reads up to 16 lower-case hexadecimal digits; `nil` if any other byte is found.
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

    /// Returns the 16 hexadecimal digits of a number.
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

/// Decides whether a trace is recorded. If `followsParent` is false or a trace begins here, the trace id decides, so
/// that samplers with equal ratios agree.
@usableFromInline
package struct TraceSampler: Sendable, Equatable {
    /// Traces whose random bits are below this number are not recorded.
    @usableFromInline let threshold: UInt64
    /// True if the sender's sampling decision applies to spans with a parent.
    package let followsParent: Bool

    /// The upper bound of the random bits (the last seven bytes of a trace id).
    private static let all: UInt64 = 1 << 56

    /// - Parameter ratio: The share of traces that are recorded, from 0 to 1.
    package init(ratio: Double, followsParent: Bool) {
        let share = ratio.isFinite ? min(max(ratio, 0), 1) : 0
        self.threshold = Self.all - UInt64(share * Double(Self.all))
        self.followsParent = followsParent
    }

    /// True if traces may begin here. False with a ratio of 0.
    package var beginsTraces: Bool { self.threshold < Self.all }

    /// True if any span may be recorded.
    package var recordsAny: Bool { self.beginsTraces || self.followsParent }

    /// Returns whether to record a trace that begins here.
    ///
    /// - Parameter low: The lower half of the trace id.
    @inlinable @inline(__always)
    package func samples(_ low: UInt64) -> Bool { low & (1 &<< 56 &- 1) >= self.threshold }

    /// Returns whether to record a span with this parent.
    @inline(__always)
    package func samples(below context: TraceContext) -> Bool {
        self.followsParent ? context.isSampled : self.samples(context.trace.low)
    }
}
