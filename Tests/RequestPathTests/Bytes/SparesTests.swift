import RequestPath
import Testing

@Suite struct SparesTests {
    @Test("What was kept last is taken first, and no more is kept than the limit")
    func use() {
        var spares = Spares<Int>(limit: 3)
        #expect(spares.take() == nil)
        for number in 0..<5 { spares.keep(number) }
        #expect(spares.count == 3)
        #expect((0..<4).map { _ in spares.take() } == [2, 1, 0, nil])
    }

    @Test("After a burst only as many are kept as were needed lately, and none in a quiet time")
    func shrink() {
        final class Block {}
        var spares = Spares<Block>(limit: 256)
        weak var last: Block?
        for _ in 0..<256 {
            let block = Block()
            last = block
            spares.keep(block)
        }
        spares.shrink(to: 300)
        #expect(spares.count == 256 && last != nil)
        spares.shrink(to: 5)
        #expect(spares.count == 5 && last == nil)
        spares.shrink(to: 0)
        #expect(spares.count == 0)
    }
}
