package import NIOCore
package import RequestPath

/// The chunked coding: the same content however the bytes are cut, and not a byte beyond its end.
enum BodyFuzzing {
    private struct Reading: Equatable {
        var content: [UInt8] = []
        var trailers: [UInt8] = []
        var progress = BodyProgress.more
        var consumed = 0
    }

    private static func read(_ bytes: [UInt8], step: Int, lenient isLenient: Bool = false) -> Reading {
        var reading = Reading()
        var decoder = BodyDecoder(.chunked, ofAnswer: isLenient, lenient: isLenient)
        var input = ByteBuffer()
        var start = 0
        while start < bytes.count, reading.progress == .more {
            let end = min(bytes.count, start + step)
            input.writeBytes(bytes[start..<end])
            start = end
            reading.progress = decoder.decode(
                &input,
                { Self.move($0, of: &$1, to: &reading.content) },
                trailers: { Self.move($0, of: &$1, to: &reading.trailers) }
            )
        }
        reading.consumed = start - input.readableBytes
        return reading
    }

    private static func move(_ count: Int, of buffer: inout ByteBuffer, to bytes: inout [UInt8]) {
        if let taken = buffer.readBytes(length: count) { bytes += taken }
    }

    static func chunked(_ bytes: [UInt8]) -> String? {
        if let fault = self.chunked(bytes, lenient: false) ?? self.chunked(bytes, lenient: true) { return fault }
        // Whatever is read strictly, the reader of old servers reads in the same way.
        let (strict, lenient) = (self.read(bytes, step: 1), self.read(bytes, step: 1, lenient: true))
        return strict.progress != .end || strict == lenient ? nil : "an old server's chunks are read otherwise"
    }

    private static func chunked(_ bytes: [UInt8], lenient isLenient: Bool) -> String? {
        let whole = self.read(bytes, step: max(1, bytes.count), lenient: isLenient)
        for step in [1, 3] {
            let cut = self.read(bytes, step: step, lenient: isLenient)
            if cut.progress != whole.progress { return "pieces of \(step) end otherwise" }
            if cut.progress != .malformed, cut.content != whole.content {
                return "pieces of \(step) have other content"
            }
            if cut.progress == .end, cut.trailers != whole.trailers { return "pieces of \(step) have other trailers" }
            if cut.progress == .end, cut.consumed != whole.consumed { return "pieces of \(step) end elsewhere" }
        }
        guard whole.progress == .end else { return nil }
        let shorter = self.read(
            Array(bytes[..<(whole.consumed - 1)]),
            step: max(1, bytes.count),
            lenient: isLenient
        )
        return shorter.progress == .more ? self.trailers(whole.trailers) : "a part of the body ends"
    }

    // MARK: Trailers

    private static let limits = HeadLimits(line: 0, field: 2048, fields: 4096, fieldCount: 20)
    private static let rules = TrailerRules(
        managedNames: ["remote-user"],
        managedPrefixes: ["x-auth-"],
        requestLimits: Self.limits,
        answerLimits: Self.limits,
        dropsUnderscore: true
    )
    /// What no spelling of a name that passes may begin with.
    private static let forbidden = [
        "x-auth-", "remote-user:", "cookie:", "content-length:", "transfer-encoding:", "host:",
    ]

    /// Passed trailers are read as the same trailers, and none of them is one that belongs into a head.
    private static func trailers(_ lines: [UInt8]) -> String? {
        for isAnswers in [false, true] {
            guard let passed = self.passed(lines, isAnswers) else { continue }
            if self.passed(passed, isAnswers) != passed { return "passed trailers do not pass again" }
            let again = self.read(Array("0\r\n".utf8) + passed + [0x0D, 0x0A], step: 1)
            if again.progress != .end || again.trailers != passed { return "passed trailers are read otherwise" }
            for line in passed.split(separator: 0x0A) {
                let name = line.map {
                    ByteClass.normalizedToken[Int($0)] == 0 ? $0 : ByteClass.normalizedToken[Int($0)]
                }
                if self.forbidden.contains(where: { name.starts(with: $0.utf8) }) { return "a trailer is of the head" }
            }
        }
        return nil
    }

    /// The lines that pass. `nil` if none does.
    private static func passed(_ lines: [UInt8], _ isAnswers: Bool) -> [UInt8]? {
        let section = isAnswers ? self.rules.sectionOfAnswer : self.rules.sectionOfRequest
        var buffer = ByteBuffer(bytes: lines)
        section.take(lines.count, of: &buffer)
        let outcome =
            isAnswers
            ? self.rules.check(section, ofAnswerOn: nil) : self.rules.check(section, ofRequestOn: nil)
        if case .passed(let trailers?) = outcome { return trailers.lines }
        return nil
    }
}

extension BodyDecoder {
    /// Appends the body's content to `collected`.
    package mutating func collect(_ buffer: inout ByteBuffer, into collected: inout [UInt8]) -> BodyProgress {
        self.decode(&buffer) { count, content in
            if let bytes = content.readBytes(length: count) { collected += bytes }
        }
    }
}
