import Sessions
import Testing
import Vocabulary

@Suite struct DeadlineQueueTests {
    private func drain(_ queue: inout DeadlineQueue<Int>, at now: UnixTime) -> [Int] {
        var due: [Int] = []
        while let element = queue.popDue(at: now) { due.append(element) }
        return due
    }

    @Test("Due elements come out in order of their deadlines, and the others stay")
    func order() {
        var queue = DeadlineQueue<Int>()
        let times = (0..<1000).map { ($0 * 7919) % 1009 }
        for time in times { queue.push(time, due: UnixTime(seconds: Int64(time))) }
        #expect(self.drain(&queue, at: UnixTime(seconds: 499)) == times.filter { $0 <= 499 }.sorted())
        #expect(self.drain(&queue, at: UnixTime(seconds: 499)).isEmpty)
        #expect(queue.count == times.filter { $0 > 499 }.count)
        #expect(self.drain(&queue, at: UnixTime(seconds: 2000)) == times.filter { $0 > 499 }.sorted())
    }

    @Test("Compacting keeps the order of the elements that it keeps")
    func compact() {
        var queue = DeadlineQueue<Int>()
        for time in (0..<500).map({ $0 * 211 % 500 }) { queue.push(time, due: UnixTime(seconds: Int64(time))) }
        queue.compact { element, _ in element.isMultiple(of: 3) }
        #expect(self.drain(&queue, at: UnixTime(seconds: 500)) == (0..<500).filter { $0.isMultiple(of: 3) })
    }
    @Test("Elements are told apart by the time for which they were added")
    func times() {
        var queue = DeadlineQueue<Int>()
        for seconds in 1...3 { queue.push(7, due: UnixTime(seconds: Int64(seconds))) }
        queue.compact { _, due in due != UnixTime(seconds: 2) }
        let due = (0..<3).map { _ in queue.popFirst(dueAt: UnixTime(seconds: 5))?.due.seconds }
        #expect(due == [1, 3, nil])
    }
}
