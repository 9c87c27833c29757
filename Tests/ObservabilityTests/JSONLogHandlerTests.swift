import Foundation
import Logging
import Observability
import Testing
import Vocabulary

@Suite(.timeLimit(.minutes(5)))
struct JSONLogHandlerTests {
    private let clock = Clock { UnixTime(milliseconds: 1_795_241_820_123) }

    private struct Failure: Error, CustomStringConvertible {
        var description: String { "broken \"pipe\"" }
    }

    private func logger(_ queue: LineQueue, _ threshold: JSONLogHandler.Threshold) -> Logger {
        Logger(label: "test") { label in
            JSONLogHandler(label: label, queue: queue, threshold: threshold, clock: self.clock)
        }
    }

    @Test func aRecordIsOneLine() throws {
        let sink = try FileSink()
        var logger = self.logger(sink.writer.queue(.log, capacity: 65_536), .init(.info))
        logger[metadataKey: "own"] = "logger"
        logger[metadataKey: "both"] = "logger"
        logger.error(
            "first\nsecond",
            metadata: ["both": "record", "list": ["a", .stringConvertible(1)], "map": ["k": "v"]]
        )
        let expected = #"""
            {"stream":"log","time":"2026-11-21T06:17:00.123Z","level":"error","logger":"test",\#
            "message":"first\u000asecond",\#
            "fields":{"both":"record","list":["a","1"],"map":{"k":"v"},"own":"logger"}}

            """#
        #expect(String(decoding: try #require(sink.contents()), as: UTF8.self) == expected)
    }

    @Test func errorsHaveTheirOwnMemberAndSecretsAreAbsent() throws {
        let sink = try FileSink()
        let logger = self.logger(sink.writer.queue(.log, capacity: 65_536), .init(.info))
        logger.warning("failed", error: Failure(), metadata: ["token": .stringConvertible(Secret("hunter2"))])
        let object = try #require(try sink.objects().first)
        #expect(object["error"] as? String == "broken \"pipe\"")
        #expect((object["fields"] as? [String: String])?["token"] == "<redacted>")
    }

    @Test func theSharedThresholdMovesLoggersThatExist() throws {
        let sink = try FileSink()
        let threshold = JSONLogHandler.Threshold(.warning)
        let queue = sink.writer.queue(.log, capacity: 65_536)
        let logger = self.logger(queue, threshold)
        var own = self.logger(queue, threshold)
        own.logLevel = .error
        logger.info("1")
        logger.warning("2")
        threshold.level = .debug
        logger.debug("3")
        logger.trace("4")
        own.warning("5")
        own.error("6")
        #expect(try sink.objects().map { $0["message"] as? String } == ["2", "3", "6"])
    }

    @Test func metadataOfAnyDepthIsWritten() throws {
        let sink = try FileSink()
        let logger = self.logger(sink.writer.queue(.log, capacity: 1 << 20), .init(.info))
        var value: Logger.MetadataValue = "core"
        for _ in 0..<100 { value = .array([value]) }
        logger.info("deep", metadata: ["deep": value])
        #expect(try sink.objects().count == 1)
    }
}
