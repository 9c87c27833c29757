import Observability
import TestSupport
import Testing

@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private func read(_ text: String) -> TraceContext? {
        Array(text.utf8).withUnsafeBufferPointer { TraceContext($0) }
    }

    @Test func readsTheFieldsOfVersion00() throws {
        let context = try #require(self.read("00-\(Self.trace)-\(Self.span)-01"))
        #expect(context.trace.description == Self.trace)
        #expect(TraceContext.text(context.span) == Self.span)
        #expect(context.flags == 1)
        #expect(context.isSampled)
    }

    @Test(
        "a well-formed value is read",
        arguments: [
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", true),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", true),
            ("00-00000000000000000000000000000001-0000000000000001-00", false),
            ("00-10000000000000000000000000000000-1000000000000000-01", true),
            ("00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01", true),
            ("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", false),
            ("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-", true),
            ("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-the-future-will-be-like", true),
            ("fe-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", true),
        ]
    )
    func wellFormed(text: String, isSampled: Bool) throws {
        let context = try #require(self.read(text))
        #expect(context.isSampled == isSampled)
    }

    @Test("of the flags of a later version only the one for sampling is known")
    func laterFlags() throws {
        #expect(try #require(self.read("cc-\(Self.trace)-\(Self.span)-ff")).flags == 1)
        #expect(try #require(self.read("00-\(Self.trace)-\(Self.span)-ff")).flags == 0xFF)
    }

    @Test(
        "an odd value is as if there were none",
        arguments: [
            "", "-", "00", "00-", "00--", "00---", "00-----", " ", "00-00-00-00",
            // Ids that are none.
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            // The version that there never is.
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            // Versions that are none.
            "0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "000-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            ".0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "-1-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0G-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "0F-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            // Capitals.
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473F-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0A",
            // Bytes that are no digits.
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6.3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bz-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa 0ba902b-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-.1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-é",
            "00-４bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            // Too short, too long.
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47360-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b70-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-001",
            // More than version 00 has.
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-extra",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01,",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.extra",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            // Two values in one field.
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01,00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            // Other separators, and none.
            "00_4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7_01",
            "00 4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 01",
            "004bf92f3577b34da6a3ce929d0e0e473600f067aa0ba902b701",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7 01",
            // White space that the field's own syntax does not take away.
            " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
            "\u{0}0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ]
    )
    func odd(text: String) {
        #expect(self.read(text) == nil)
    }

    @Test("what is read is written alike, and one changed byte never gives another trace's id")
    func readsWhatIsWritten() throws {
        var dice = SeededNumbers(seed: 41)
        for _ in 0..<2000 {
            let trace = try #require(TraceID(high: dice.next(), low: dice.next() | 1))
            let span = TraceContext.text(dice.next() | 1)
            let text = "00-\(trace)-\(span)-0\(dice.next() & 1)"
            let context = try #require(self.read(text))
            #expect(context.trace == trace)
            #expect(TraceContext.text(context.span) == span)
            var bytes = Array(text.utf8)
            let place = Int.random(in: 0..<bytes.count, using: &dice)
            bytes[place] = UInt8.random(in: .min ... .max, using: &dice)
            let changed = bytes.withUnsafeBufferPointer { TraceContext($0) }
            if !(3..<35).contains(place), let changed { #expect(changed.trace == trace) }
        }
    }

    @Test("any bytes of any length are read or refused")
    func anyBytes() {
        var dice = SeededNumbers(seed: 7)
        let alphabet = Array("0123456789abcdef-fF\u{0}".utf8)
        for _ in 0..<5000 {
            let count = Int.random(in: 0...70, using: &dice)
            let bytes = (0..<count).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &dice)] }
            let context = bytes.withUnsafeBufferPointer { TraceContext($0) }
            if let context { #expect(context.span != 0) }
        }
    }

    // MARK: Sampling

    @Test("the share of ids that are recorded is the ratio, and a larger ratio records all that a smaller one does")
    func ratios() throws {
        var dice = SeededNumbers(seed: 99)
        let ids = try (0..<20_000).map { _ in try #require(TraceID(high: dice.next(), low: dice.next())) }
        let samplers = [0, 0.01, 0.25, 1].map { TraceSampler(ratio: $0, followsParent: true) }
        let recorded = samplers.map { sampler in ids.filter { sampler.samples($0.low) } }
        #expect(recorded[0].isEmpty)
        #expect((120..<290).contains(recorded[1].count))
        #expect((4700..<5300).contains(recorded[2].count))
        #expect(recorded[3].count == ids.count)
        #expect(Set(recorded[1]).isSubset(of: recorded[2]))
    }

    @Test("only the last seven bytes of an id count, as the others may not be random")
    func randomBytes() throws {
        let sampler = TraceSampler(ratio: 0.5, followsParent: false)
        let low = try #require(TraceID(high: .max, low: 0xFF00_0000_0000_0001))
        let high = try #require(TraceID(high: 0, low: 0x00FF_FFFF_FFFF_FFFF))
        #expect(!sampler.samples(low.low))
        #expect(sampler.samples(high.low))
    }

    @Test("a parent's sender has decided, where the sampler follows it")
    func parents() throws {
        let sampled = try #require(self.read("00-\(Self.trace)-\(Self.span)-01"))
        let unsampled = try #require(self.read("00-\(Self.trace)-\(Self.span)-00"))
        let following = TraceSampler(ratio: 0, followsParent: true)
        #expect(following.samples(below: sampled))
        #expect(!following.samples(below: unsampled))
        #expect(!following.beginsTraces)
        #expect(following.recordsAny)
        let own = TraceSampler(ratio: 1, followsParent: false)
        #expect(own.samples(below: unsampled))
        #expect(!TraceSampler(ratio: 0, followsParent: false).recordsAny)
        #expect(!TraceSampler(ratio: .nan, followsParent: false).recordsAny)
        #expect(TraceSampler(ratio: 7, followsParent: false).samples(unsampled.trace.low))
    }

    @Test("mixed numbers are different ones")
    func mixing() {
        let mixed = Set((0..<10_000).map { TraceLog.mixed($0) })
        #expect(mixed.count == 10_000)
        #expect(mixed.filter { $0 & 1 == 1 }.count > 4500)
    }
}
