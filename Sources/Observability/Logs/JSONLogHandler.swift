package import Logging
import Synchronization
package import Vocabulary

/// Writes swift-log records as JSON lines to a `LineQueue`. A log statement never waits for the reader.
package struct JSONLogHandler: LogHandler {
    /// The minimum level, shared by all loggers.
    package final class Threshold: Sendable {
        private let value: Mutex<Logger.Level>

        package init(_ level: Logger.Level) {
            self.value = Mutex(level)
        }

        package var level: Logger.Level {
            get { self.value.withLock { $0 } }
            set { self.value.withLock { $0 = newValue } }
        }
    }

    /// The maximum length of a message in bytes. Longer messages are cut.
    private static let messageLimit = 8192

    private let label: String
    private let queue: LineQueue
    private let threshold: Threshold
    private let clock: Clock
    private var ownLevel: Logger.Level?
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?

    package init(label: String, queue: LineQueue, threshold: Threshold, clock: Clock = .system) {
        self.label = label
        self.queue = queue
        self.threshold = threshold
        self.clock = clock
    }

    /// Installs this handler for all loggers of the process. Call it once.
    package static func bootstrap(queue: LineQueue, threshold: Threshold) {
        LoggingSystem.bootstrap { JSONLogHandler(label: $0, queue: queue, threshold: threshold) }
    }

    /// This logger's own level, or the shared threshold if it has none.
    package var logLevel: Logger.Level {
        get { self.ownLevel ?? self.threshold.level }
        set { self.ownLevel = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var line = LineBuffer(capacity: 1024)
        line.begin("log", self.clock.now())
        line.member("level", event.level.rawValue)
        line.member("logger", self.label)
        line.member("message", event.message.description, limit: Self.messageLimit)
        if let error = event.error { line.member("error", "\(error)") }
        var fields = self.metadata
        if let provided = self.metadataProvider?.get() { fields.merge(provided) { $1 } }
        if let own = event.metadata { fields.merge(own) { $1 } }
        if !fields.isEmpty {
            line.key("fields")
            Self.write(fields, to: &line, depth: 0)
        }
        line.end()
        self.queue.append(line.bytes)
    }

    private static func write(_ fields: Logger.Metadata, to line: inout LineBuffer, depth: Int) {
        line.byte(UInt8(ascii: "{"))
        for (index, (name, value)) in fields.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { line.byte(UInt8(ascii: ",")) }
            line.string(name)
            line.byte(UInt8(ascii: ":"))
            self.write(value, to: &line, depth: depth + 1)
        }
        line.byte(UInt8(ascii: "}"))
    }

    private static func write(_ value: Logger.MetadataValue, to line: inout LineBuffer, depth: Int) {
        switch value {
        case .string(let text):
            line.string(text)
        case .stringConvertible(let convertible):
            line.string(convertible.description)
        case .dictionary(let fields) where depth < 8:
            self.write(fields, to: &line, depth: depth)
        case .array(let values) where depth < 8:
            line.byte(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { line.byte(UInt8(ascii: ",")) }
                self.write(value, to: &line, depth: depth + 1)
            }
            line.byte(UInt8(ascii: "]"))
        case .dictionary, .array:
            line.string(value.description)
        }
    }
}
