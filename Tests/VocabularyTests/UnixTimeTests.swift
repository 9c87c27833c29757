import Testing
import Vocabulary

/// Tokens, documents and records may state any number as a time.
@Suite struct UnixTimeTests {
    private static let first = UnixTime(milliseconds: .min)
    private static let last = UnixTime(milliseconds: .max)
    private static let seconds: [Int64] = [.min, .min + 1, -1, 0, 1, .max / 1000, .max / 1000 + 1, .max - 1, .max]

    @Test("A time beyond what the number holds is the last or the first one")
    func bounds() {
        #expect(UnixTime(seconds: .max) == Self.last && UnixTime(seconds: .min) == Self.first)
        #expect(UnixTime(seconds: .max / 1000).seconds == .max / 1000)
        #expect(Self.last.advanced(by: .seconds(60)) == Self.last)
        #expect(Self.first.advanced(by: .seconds(-60)) == Self.first)
        #expect(Self.first.advanced(by: .seconds(60)) > Self.first)
    }

    @Test("Between any two times there is a duration, and any of them has a text")
    func arithmetic() {
        for seconds in Self.seconds {
            for other in Self.seconds {
                let (time, earlier) = (UnixTime(seconds: seconds), UnixTime(seconds: other))
                #expect((time.since(earlier) < .zero) == (time < earlier))
                #expect((time.advanced(by: .seconds(other)) >= time) == (other >= 0 || time == Self.first))
            }
            #expect(UnixTime(seconds: seconds).rfc3339.utf8.count == RFC3339.count)
            #expect(HTTPDate.text(UnixTime(seconds: seconds)).hasSuffix(" GMT"))
        }
        #expect(Self.last.since(Self.first) == .milliseconds(Int64.max))
        #expect(Self.first.since(Self.last) == .milliseconds(Int64.min))
    }

    @Test("The milliseconds of a duration are exact, or the nearest bound")
    func durations() {
        for milliseconds in [Int64.min, -1001, -1, 0, 1, 1001, .max] {
            #expect(Duration.milliseconds(milliseconds).wholeMilliseconds == milliseconds)
        }
        #expect(Duration.seconds(Int64.max).wholeMilliseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeMilliseconds == .min)
    }

    @Test("Sums, differences and products are exact, or the nearest bound")
    func numbers() {
        let numbers: [Int64] = [.min, .min + 1, -1_000_000, -1, 0, 1, 1_000_000, .max - 1, .max]
        for left in numbers {
            for right in numbers {
                let sum = Double(left) + Double(right)
                #expect(abs(Double(left.addingWithinBounds(right)) - max(min(sum, 0x1p63), -0x1p63)) < 4096)
                let difference = Double(left) - Double(right)
                #expect(abs(Double(left.subtractingWithinBounds(right)) - max(min(difference, 0x1p63), -0x1p63)) < 4096)
                let product = Double(left) * Double(right)
                #expect(abs(Double(left.multipliedWithinBounds(by: right)) - max(min(product, 0x1p63), -0x1p63)) < 4096)
            }
        }
    }
}
