import Testing
import Vocabulary

@Suite("Batches")
struct BatchTests {
    @Test("A batch is drained in the order in which it was filled, again and again")
    func order() {
        let batch = Batch<Int>()
        for round in 0..<3 {
            for element in 0..<4 { batch.append(10 * round + element) }
            var drained: [Int] = []
            batch.drain { drained.append($0) }
            #expect(drained == (0..<4).map { 10 * round + $0 })
            #expect(batch.isEmpty)
        }
    }

    @Test("What is added while a batch is drained is kept for the next time, also by a drain within the drain")
    func additions() {
        let batch = Batch<Int>()
        batch.append(1)
        batch.append(2)
        var drained: [Int] = []
        batch.drain { element in
            drained.append(element)
            batch.append(element + 10)
            if element == 1 { batch.drain { drained.append($0) } }
        }
        #expect(drained == [1, 11, 2])
        batch.drain { drained.append($0) }
        #expect(drained == [1, 11, 2, 12])
    }
}
