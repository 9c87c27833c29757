import RequestPath
import Testing

/// Lengths of frames are followed, however the bytes are cut.
@Suite struct WebSocketFramesTests {
    private static func frame(_ count: Int, masked: Bool = false, opcode: UInt8 = 0x82) -> [UInt8] {
        var bytes = [opcode]
        let mask: UInt8 = masked ? 0x80 : 0
        if count < 126 {
            bytes.append(mask | UInt8(count))
        } else if count < 65_536 {
            bytes += [mask | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        } else {
            bytes.append(mask | 127)
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
        }
        if masked { bytes += [0xDE, 0xAD, 0xBE, 0xEF] }
        // A payload that looks like frame headers, so that a wrong count shows.
        return bytes + (0..<count).map { UInt8(truncatingIfNeeded: 0x81 &+ $0) }
    }

    static let frames: [[UInt8]] = [
        frame(0), frame(1), frame(125), frame(126), frame(127), frame(300), frame(0, masked: true),
        frame(5, masked: true),
        frame(200, masked: true), frame(0, opcode: 0x89), frame(2, opcode: 0x88), frame(65_535), frame(65_536),
        frame(70_000, masked: true),
    ]

    private static func pass(_ bytes: ArraySlice<UInt8>, _ frames: inout WebSocketFrames) {
        bytes.withUnsafeBufferPointer { frames.pass($0) }
    }

    @Test func isBetweenFramesAtTheirEndsAndNowhereElse() {
        var state = WebSocketFrames()
        #expect(state.isBetweenFrames)
        for frame in Self.frames {
            for index in frame.indices {
                Self.pass(frame[index...index], &state)
                let isEnd = index == frame.count - 1
                if state.isBetweenFrames != isEnd { Issue.record("byte \(index) of \(frame.count)") }
            }
        }
        #expect(state.isFollowing)
    }

    @Test(arguments: [1, 2, 3, 5, 64, 1000]) func cutsMakeNoDifference(_ step: Int) {
        let all = Self.frames.flatMap { $0 }
        var state = WebSocketFrames()
        var start = 0
        while start < all.count {
            Self.pass(all[start..<min(all.count, start + step)], &state)
            start += step
        }
        #expect(state.isBetweenFrames && state.isFollowing)
    }

    @Test func everySplitInTwo() {
        let all = Self.frames.prefix(11).flatMap { $0 }
        for cut in 0...all.count {
            var state = WebSocketFrames()
            Self.pass(all[0..<cut], &state)
            Self.pass(all[cut...], &state)
            if !state.isBetweenFrames { Issue.record("cut at \(cut)") }
        }
    }

    @Test func aLengthThatCannotBeEndsTheFollowing() {
        var state = WebSocketFrames()
        Self.pass([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3], &state)
        #expect(!state.isFollowing && !state.isBetweenFrames)
        Self.pass(Self.frames[0][...], &state)
        #expect(!state.isBetweenFrames)
    }

    @Test func theLongestLengthIsFollowed() {
        var state = WebSocketFrames()
        Self.pass([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3], &state)
        #expect(state.isFollowing && !state.isBetweenFrames)
    }

    @Test func theClosingFrameIsOne() {
        var state = WebSocketFrames()
        Self.pass(WebSocketFrames.sessionEnded[...], &state)
        #expect(state.isBetweenFrames)
        #expect(WebSocketFrames.sessionEnded == [0x88, 2] + [UInt8(1008 >> 8), UInt8(1008 & 0xFF)])
    }
}
