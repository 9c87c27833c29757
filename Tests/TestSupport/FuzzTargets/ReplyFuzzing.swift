import NIOCore
import RedisStore

/// Replies of Redis: the same however the bytes are cut, within their limits, and each the answer of one command.
enum ReplyFuzzing {
    private static let limits = ReplyLimits(bytes: 512, elements: 32)

    private struct Reading: Equatable {
        var replies: [RedisReply] = []
        var isBroken = false
    }

    static func reply(_ bytes: [UInt8]) -> String? {
        let whole = self.read(bytes, step: max(1, bytes.count))
        for step in [1, 3] where self.read(bytes, step: step) != whole { return "pieces of \(step) are other replies" }
        for reply in whole.replies {
            let (stringBytes, elements) = self.size(of: reply)
            // What is not UTF-8 in a line is replaced by a character of three bytes.
            if stringBytes > 3 * self.limits.bytes { return "a reply has more bytes than its limit" }
            if elements > self.limits.elements + 1 { return "a reply has more elements than its limit" }
        }
        let again = self.read(whole.replies.flatMap { self.written($0) }, step: 5)
        // Replaced characters may take a reply at its limit beyond it; nothing else may make it unreadable.
        if again.replies != whole.replies, !again.isBroken { return "what was written is read as other replies" }
        return self.pairing(of: whole)
    }

    private static func read(_ bytes: [UInt8], step: Int) -> Reading {
        var reading = Reading()
        let reader = ReplyReader(limits: self.limits)
        var rest = bytes[...]
        while !rest.isEmpty, !reading.isBroken {
            let piece = Array(rest.prefix(step))
            rest = rest.dropFirst(step)
            piece.withExactCopy { start, count in
                do throws(ReplyError) {
                    try reader.feed(UnsafeRawBufferPointer(start: start, count: count)) {
                        reading.replies.append($0)
                        return true
                    }
                } catch {
                    reading.isBroken = true
                }
            }
        }
        return reading
    }

    private static func size(of reply: RedisReply) -> (bytes: Int, elements: Int) {
        switch reply {
        case .null, .integer: return (0, 1)
        case .status(let text): return (text.utf8.count, 1)
        case .error(let error): return (error.message.utf8.count, 1)
        case .bulk(let bytes): return (bytes.count, 1)
        case .array(let elements):
            return elements.map { self.size(of: $0) }.reduce((0, 1)) { ($0.0 + $1.bytes, $0.1 + $1.elements) }
        }
    }

    private static func written(_ reply: RedisReply) -> [UInt8] {
        switch reply {
        case .null: Array("$-1\r\n".utf8)
        case .integer(let value): Array(":\(value)\r\n".utf8)
        case .status(let text): Array("+\(text)\r\n".utf8)
        case .error(let error): Array("-\(error.message)\r\n".utf8)
        case .bulk(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + [0x0D, 0x0A]
        case .array(let elements):
            Array("*\(elements.count)\r\n".utf8) + elements.flatMap { self.written($0) }
        }
    }

    /// The n-th reply is the n-th command's; whoever has none is told so, once.
    private static func pairing(of reading: Reading) -> String? {
        var machine = ConnectionStateMachine<Int>()
        _ = machine.connected(handshake: [], deadline: .distantFuture)
        let count = reading.replies.count / 2 + 1
        for number in 0..<count {
            guard case .send = machine.send(number, deadline: .distantFuture) else { return "a command is refused" }
        }
        var told: [Int] = []
        for (number, reply) in reading.replies.enumerated() {
            switch machine.received(reply) {
            case .answer(let handle, let answer):
                guard handle == number, answer == reply else { return "a reply went to another command" }
                told.append(handle)
            case .answerAndClose(let handle, let answer, let closing):
                guard handle == number, answer == reply else { return "a reply went to another command" }
                told.append(handle)
                told += closing.failed
            case .close(let closing): told += closing.failed
            case .ignore: break
            case .wait, .becomeReady: return "a handshake that there was not"
            }
        }
        told += machine.lost(.closed)?.failed ?? []
        return told == Array(0..<count) ? nil : "not every command is told once"
    }
}
