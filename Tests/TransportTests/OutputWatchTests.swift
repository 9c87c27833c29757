import NIOCore
import Testing
import Transport

/// Whether a peer takes bytes is seen by what is left.
@Suite struct OutputWatchTests {
    private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    /// A reference, because an expectation changes no value.
    private final class Watch {
        private var watch = OutputWatch()
        var hasTaken: Bool { self.watch.hasTaken }
        func moves(_ waiting: Int, now: NIODeadline) -> Bool { self.watch.moves(waiting, now: now) }
        func isStuck(_ waiting: Int, now: NIODeadline) -> Bool {
            self.watch.isStuck(waiting, now: now, limit: .seconds(60))
        }
    }

    private static func time(_ second: Int) -> NIODeadline { self.start + .seconds(Int64(second)) }

    @Test func aPeerThatTakesAByteNowAndThenIsNotStuck() {
        let watch = Watch()
        for second in 0..<600 {
            #expect(!watch.isStuck(1000 - second / 60, now: Self.time(second)), "\(second)")
        }
    }

    @Test func aPeerThatTakesNothingIsStuck() {
        let watch = Watch()
        let stuck = (0..<100).filter { watch.isStuck(1000, now: Self.time($0)) }
        #expect(stuck.first == 61 && stuck.last == 99)
    }

    @Test func aPeerWithNothingToTakeIsNotStuck() {
        let watch = Watch()
        for second in 0..<100 { #expect(!watch.isStuck(0, now: Self.time(second))) }
        #expect(!watch.isStuck(5, now: Self.time(100)))
        #expect(watch.isStuck(5, now: Self.time(170)))
    }

    @Test func newBytesAreNoMove() {
        let watch = Watch()
        #expect(watch.moves(5, now: Self.time(0)) && !watch.hasTaken)
        #expect(!watch.moves(9, now: Self.time(1)) && !watch.moves(9, now: Self.time(2)))
        #expect(!watch.hasTaken && watch.moves(8, now: Self.time(3)) && watch.hasTaken)
        #expect(!watch.moves(8, now: Self.time(4)) && !watch.hasTaken)
    }
}
