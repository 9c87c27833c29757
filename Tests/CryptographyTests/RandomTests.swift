import Cryptography
import Testing

@Suite("Random bytes and comparison")
struct RandomTests {
    @Test("The requested number of bytes is returned, never the same twice")
    func bytes() {
        for count in [0, 1, 16, 32, 33, 4096] {
            #expect(Random.bytes(count).count == count)
        }
        var seen: Set<[UInt8]> = []
        for _ in 0..<10_000 {
            #expect(seen.insert(Random.bytes(16)).inserted)
        }
    }

    @Test("No eight bytes occur twice, whatever the sizes and on however many threads")
    func concurrent() async {
        let draws = await withTaskGroup(of: [[UInt8]].self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<4000).map { Random.bytes(8 + $0 % 64) } }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        let pieces = draws.flatMap { draw in
            stride(from: 0, through: draw.count - 8, by: 8).map { Array(draw[$0..<($0 + 8)]) }
        }
        #expect(Set(pieces).count == pieces.count)
    }

    @Test("Every value of a byte occurs")
    func spread() {
        #expect(Set(Random.bytes(65_536)).count == 256)
    }

    @Test("32 bytes are 43 characters that a URL may contain")
    func text() {
        let text = Random.base64URL(32)
        #expect(text.utf8.count == 43)
        #expect(Base64URL.decode(text)?.count == 32)
        #expect(Random.base64URL(0) == "")
    }

    @Test("Comparison sees a difference at every place and of every length")
    func constantTime() {
        let bytes = Random.bytes(64)
        #expect(constantTimeEqual(bytes, bytes))
        #expect(constantTimeEqual(bytes, Array(bytes)))
        #expect(constantTimeEqual([], []))
        #expect(!constantTimeEqual(bytes, []))
        #expect(!constantTimeEqual([], bytes))
        #expect(!constantTimeEqual(bytes, Array(bytes.dropLast())))
        #expect(!constantTimeEqual(bytes, bytes + [0]))
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(!constantTimeEqual(bytes, other))
        }
    }
}
