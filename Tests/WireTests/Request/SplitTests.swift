import RequestPath
import Testing

/// A request is read the same, however its bytes are cut.
@Suite struct SplitTests {
    /// The offset of the end of the head in `text`.
    private static func headEnd(_ text: String) -> Int {
        Heads.parse(Array(text.utf8)) { result, head, _ in result == .complete ? head.byteCount : -1 }
    }

    @Test(arguments: Mutator.seeds) func noPrefixOfAHeadIsAHead(_ text: String) {
        let bytes = Array(text.utf8)
        let end = Self.headEnd(text)
        #expect(end > 0)
        for count in 0..<max(0, end) {
            let result = Heads.parse(Array(bytes[0..<count])) { result, _, _ in result }
            #expect(result == .incomplete, "\(count) bytes of \(text.debugDescription)")
        }
    }

    @Test(arguments: RequestRefusalTests.lines + RequestRefusalTests.fields)
    func noPrefixOfARefusedHeadIsAHead(_ item: RequestRefusalTests.Case) {
        let bytes = Array(item.text.utf8)
        for count in 0...bytes.count {
            let result = Heads.parse(Array(bytes[0..<count])) { result, _, _ in result }
            #expect(result != .complete, "\(count) bytes of \(item.text.debugDescription)")
        }
    }

    /// A head that was refused early stays refused when more bytes arrive.
    @Test(arguments: RequestRefusalTests.lines + RequestRefusalTests.fields)
    func aRefusalIsNeverTakenBack(_ item: RequestRefusalTests.Case) {
        let bytes = Array(item.text.utf8)
        var isRefused = false
        for count in 1...bytes.count {
            let result = Heads.parse(Array(bytes[0..<count])) { result, _, _ in result }
            if isRefused { #expect(result != .incomplete && result != .complete, "\(count) of \(item.name)") }
            if case .refused = result { isRefused = true }
        }
        #expect(isRefused)
    }

    @Test(arguments: Mutator.seeds, [1, 2, 3, 7, 16])
    func cutsMakeNoDifference(_ text: String, _ step: Int) {
        let bytes = Array(text.utf8)
        let whole = WireReader.read(bytes)
        let cut = WireReader.read(bytes, step: step)
        #expect(!whole.requests.isEmpty)
        #expect(cut.requests == whole.requests)
        #expect(cut.end == whole.end)
    }

    @Test func cutsMakeNoDifferenceToMutations() {
        var mutator = Mutator(seed: 1)
        var accepted = 0
        for _ in 0..<3000 {
            let bytes = mutator.next()
            let whole = WireReader.read(bytes)
            let cut = WireReader.read(bytes, step: 1)
            if !whole.requests.isEmpty { accepted += 1 }
            guard cut.requests != whole.requests || cut.end.kind != whole.end.kind else { continue }
            Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription): \(whole.end) and \(cut.end)")
        }
        #expect(accepted > 300)
    }
}
