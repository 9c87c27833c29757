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

    @Test(arguments: [(WebSocketStatus.goingAway, 1001), (.policyViolation, 1008), (.tryAgainLater, 1013)])
    func aClosingFrameIsOneInBothDirections(_ status: WebSocketStatus, _ number: Int) {
        let payload = [UInt8(number >> 8), UInt8(number & 0xFF)]
        let (plain, masked) = (status.closeFrame, status.maskedCloseFrame)
        for frame in [plain, masked] {
            var state = WebSocketFrames()
            Self.pass(frame[...], &state)
            let hasData = state.takeData()
            #expect(state.isBetweenFrames && state.hasClosed && !state.mayClose && !hasData)
        }
        #expect(plain == [0x88, 2] + payload)
        #expect(masked.count == 8 && masked[0] == 0x88 && masked[1] == 0x82)
        #expect([masked[6] ^ masked[2], masked[7] ^ masked[3]] == payload)
    }

    @Test func dataFramesAreToldFromControlFrames() {
        var state = WebSocketFrames()
        for opcode: UInt8 in [0x88, 0x89, 0x8A] {
            Self.pass(Self.frame(5, opcode: opcode)[...], &state)
            Self.pass(Self.frame(5, masked: true, opcode: opcode)[...], &state)
            let hasData = state.takeData()
            #expect(!hasData, "opcode \(opcode)")
        }
        for opcode: UInt8 in [0x00, 0x01, 0x80, 0x81, 0x82, 0xC1] {
            for count in [0, 5] {
                Self.pass(Self.frame(count, opcode: opcode)[...], &state)
                let hasData = (state.takeData(), state.takeData())
                #expect(hasData == (true, false), "opcode \(opcode)")
            }
        }
    }

    @Test func eachPartOfALongFrameIsData() {
        var state = WebSocketFrames()
        var hasData = false
        let frame = Self.frame(300)
        Self.pass(frame[..<100], &state)
        hasData = state.takeData()
        #expect(hasData)
        Self.pass(frame[100..<200], &state)
        hasData = state.takeData()
        #expect(hasData)
        // A control frame between the fragments of a message.
        Self.pass(frame[200...], &state)
        hasData = state.takeData()
        #expect(hasData)
        Self.pass(Self.frame(3, opcode: 0x89)[...], &state)
        hasData = state.takeData()
        #expect(!hasData)
    }

    @Test(arguments: [1, 2, 7, 150, 304]) func aFrameIsPassedToItsEndAndNotBeyond(_ cut: Int) {
        let (first, second) = (Self.frame(300), Self.frame(20))
        var state = WebSocketFrames()
        Self.pass(first[..<cut], &state)
        let rest = Array(first[cut...] + second)
        let count = rest.withUnsafeBufferPointer { state.passFrame($0) }
        #expect(count == first.count - cut && state.isBetweenFrames)
        let next = second.withUnsafeBufferPointer { state.passFrame($0) }
        #expect(next == 0, "no frame has begun")
    }
}
