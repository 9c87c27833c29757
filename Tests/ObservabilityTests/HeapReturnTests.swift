import Observability
import Testing

/// Each row is a look after five seconds: the processor's seconds in them, and the resident memory in MiB.
@Suite struct HeapReturnTests {
    /// A process of a test.
    private final class Bench {
        private var heap = HeapReturn(cpuSeconds: 0, residentBytes: 30 * Bench.mebibyte)
        private var cpuSeconds = 0.0
        private static let mebibyte = 1024.0 * 1024

        func look(_ used: Double, _ mebibytes: Double) -> Bool {
            self.cpuSeconds += used
            return self.heap.look(cpuSeconds: self.cpuSeconds, residentBytes: mebibytes * Self.mebibyte)
        }

        func returned(_ mebibytes: Double) { self.heap.returned(residentBytes: mebibytes * Self.mebibyte) }
    }

    private let bench = Bench()

    @Test("Memory is given back once after a burst, when the process has become quiet")
    func burst() {
        #expect(!self.bench.look(0.01, 30))
        #expect(!self.bench.look(4, 120), "busy")
        #expect(!self.bench.look(0.6, 110), "still")
        #expect(self.bench.look(0.1, 110))
        self.bench.returned(32)
        #expect(!self.bench.look(0.01, 32))
        #expect(!self.bench.look(3, 100))
        #expect(self.bench.look(0.01, 100), "the next burst")
    }

    @Test("What stays resident is in use, and is not looked at again")
    func inUse() {
        #expect(self.bench.look(0.1, 60))
        self.bench.returned(58)
        for _ in 0..<10 { #expect(!self.bench.look(0.01, 60)) }
        #expect(self.bench.look(0.01, 75))
    }

    @Test("Small bursts are left alone, and a process that became smaller by itself is compared with that")
    func small() {
        #expect(!self.bench.look(0.01, 45))
        #expect(!self.bench.look(0.01, 20))
        #expect(self.bench.look(0.01, 37))
    }

    @Test("Where the memory is not known nothing is done")
    func unknown() {
        #expect(!self.bench.look(0.01, .nan))
        #expect(!self.bench.look(0.01, 30))
        #expect(self.bench.look(0.01, 60))
    }

    @Test("Where it was not known at first, what is known later counts", arguments: [true, false])
    func unknownFirst(_ isAtStart: Bool) {
        var heap = HeapReturn(cpuSeconds: 0, residentBytes: isAtStart ? .nan : 0)
        if !isAtStart { heap.returned(residentBytes: .nan) }
        let mebibyte = 1024.0 * 1024
        // Mutating calls cannot stand in an expectation.
        let looks = [30, .nan, 60].map { heap.look(cpuSeconds: 0, residentBytes: $0 * mebibyte) }
        #expect(looks == [false, false, true])
    }
}
