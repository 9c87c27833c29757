import Calls
import Logging
import NIOCore
import Observability
import Operating
import Providers
import RequestPath
import Settings
import Synchronization
import Vocabulary

/// Sends spans to a collector, one batch at a time. Requests never wait for it.
final class TraceExporter: Sendable {
    /// The maximum size of an answer in bytes, as in OTLP.
    private static let answerLimit = 4 << 20
    /// The minimum and maximum time for the last spans when the gateway stops.
    private static let lastWords = (most: Duration.seconds(5), least: Duration.seconds(1))

    let queue: SpanQueue
    private let request: ExportRequest
    private let settings: TelemetrySettings
    private let url: String
    private let fields: [(name: String, value: String)]
    private let transport: any CallTransport
    private let logger: Logger
    private let failures: SeldomLine
    private let wakeUps: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let isStopping = Atomic(false)
    private let task = Mutex<Task<Void, Never>?>(nil)
    /// The current pause between two attempts.
    private let pausing = Mutex<Task<Void, any Error>?>(nil)

    /// `nil` if tracing is off.
    ///
    /// - Throws: `StartRefusal` if a certificate or key file cannot be used.
    init?(_ settings: Settings, client: CallClient, logger: Logger) throws {
        let telemetry = settings.telemetry
        let sampler = TraceSampler(ratio: telemetry.share, followsParent: telemetry.sampler.followsParent)
        guard let url = telemetry.url, sampler.recordsAny else { return nil }
        let certificate = telemetry.clientCertificateFile.flatMap { chain in
            telemetry.clientKeyFile.map { (chain: chain, key: $0) }
        }
        self.transport = try StartRefusal.naming("telemetry.") {
            try client.transport(
                caFile: telemetry.caFile,
                certificate: certificate,
                allowsPlainHTTP: true,
                proxies: settings.proxies
            )
        }
        self.settings = telemetry
        self.url = url
        self.logger = logger
        self.failures = SeldomLine()
        self.request = ExportRequest(
            attributes: Self.resource(telemetry),
            version: Version.current,
            form: telemetry.form == .json ? .json : .protobuf
        )
        self.fields =
            [(name: "content-type", value: self.request.form.contentType)]
            + telemetry.fields.map { ($0.name, String(decoding: $0.value.bytes, as: UTF8.self)) }
        let (wakeUps, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakeUps = wakeUps
        self.wake = wake
        self.queue = SpanQueue(capacity: telemetry.queueSize, batch: telemetry.batchSize) { wake.yield() }
    }

    /// Returns the resource attributes. Attributes in the settings take precedence over detected ones.
    private static func resource(_ settings: TelemetrySettings) -> [(name: String, value: String)] {
        var attributes = [(name: "service.name", value: settings.serviceName)]
        attributes += settings.attributes.map { ($0.name, $0.value) }
        let found = [
            ("service.version", Version.current), ("service.instance.id", Self.randomID()),
            ("host.name", Process.hostName), ("telemetry.sdk.name", "sallyport"),
            ("telemetry.sdk.language", "swift"), ("telemetry.sdk.version", Version.current),
        ]
        for (name, value) in found where !value.isEmpty && !attributes.contains(where: { $0.name == name }) {
            attributes.append((name, value))
        }
        return attributes
    }

    /// Returns a random UUID (RFC 9562 5.4).
    private static func randomID() -> String {
        let high = UInt64.random(in: .min ... .max) & ~0xF000 | 0x4000
        let low = UInt64.random(in: .min ... .max) & ~(0b11 << 62) | 0b10 << 62
        let digits = TraceContext.text(high) + TraceContext.text(low)
        var parts: [Substring] = []
        var rest = digits[...]
        for count in [8, 4, 4, 4, 12] {
            parts.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return parts.joined(separator: "-")
    }

    /// Returns the tracing profile for event loops.
    ///
    /// - Parameter system: The `db.system.name` of the session store; `nil` for a store in this process.
    func profile(storeSystem system: String?) -> TraceProfile {
        TraceProfile(
            sampler: TraceSampler(ratio: self.settings.share, followsParent: self.settings.sampler.followsParent),
            trustsClients: self.settings.trustsClients,
            namesPaths: self.settings.namesPaths,
            store: system
        )
    }

    // MARK: The task

    func start(on loop: any EventLoop) {
        let pause = TimeAmount(self.settings.batchDelay)
        loop.scheduleRepeatedTask(initialDelay: pause, delay: pause) { [wake = self.wake] _ in wake.yield() }
        self.task.withLock { $0 = Task { await self.run() } }
    }

    /// Sends the waiting spans, and ends the task. Later spans are dropped.
    ///
    /// - Parameter deadline: The end of the gateway's drain. The task ends at most a second later.
    func stop(until deadline: ContinuousClock.Instant) async {
        let limit = min(max(deadline - .now, Self.lastWords.least), Self.lastWords.most)
        let former = self.queue.lost(.failed)
        self.isStopping.store(true, ordering: .sequentiallyConsistent)
        self.wake.yield()
        self.pausing.withLock { $0?.cancel() }
        guard let task = self.task.withLock({ $0 }) else { return }
        let timer = Task {
            try? await Task.sleep(for: limit)
            task.cancel()
        }
        await task.value
        timer.cancel()
        self.queue.close()
        let lost = self.queue.lost(.failed) - former
        if lost > 0 {
            self.logger.warning("spans are lost, because the gateway stops", metadata: ["spans": "\(lost)"])
        }
    }

    private func run() async {
        var lastSent = ContinuousClock.now - self.settings.batchDelay
        var rest = ExportRest()
        // The number of dropped spans that were logged.
        var toldFull: UInt64 = 0
        for await _ in self.wakeUps {
            let isLast = self.isStopping.load(ordering: .relaxed)
            // During a pause that the collector asked for, spans wait in the queue.
            if rest.isOn(at: .now), !isLast { continue }
            let isDue = isLast || ContinuousClock.now - lastSent >= self.settings.batchDelay
            while !Task.isCancelled {
                let batch = self.queue.next(onlyFull: !isDue)
                guard !batch.isEmpty else { break }
                if let asked = await self.send(batch) { rest.begin(asked, at: .now) }
                lastSent = .now
                self.logDropped(&toldFull)
                if rest.isOn(at: .now), !isLast { break }
            }
            if isDue { lastSent = .now }
            if isLast || Task.isCancelled { return }
        }
    }

    private enum Outcome {
        case taken(PartialSuccess)
        case refused(String)
        /// `after` is the collector's `Retry-After`; `nil` if it sends none.
        case later(String, after: Duration?)
    }

    /// Sends a batch until the collector accepts or rejects it, the export timeout ends, or the gateway stops.
    ///
    /// - Returns: The `Retry-After` of the collector's last answer if the batch is given up; `nil` if there is none.
    private func send(_ batch: [SpanBuffer]) async -> Duration? {
        let body = self.request.body(batch)
        let deadline = ContinuousClock.now + self.settings.exportTimeout
        var pauses = ExportPauses()
        while true {
            switch await self.attempt(body) {
            case .taken(let answer):
                let detail: Logger.Metadata = answer.message.map { ["detail": "\($0)"] } ?? [:]
                if answer.rejected > 0 {
                    let spans = batch.reduce(0) { $0 + $1.spans }
                    let count: Logger.Metadata = ["spans": "\(min(answer.rejected, spans))"]
                    self.notify("the collector has refused spans", count.merging(detail) { $1 })
                } else if !detail.isEmpty {
                    self.notify("the collector has accepted spans with a warning", detail)
                }
                self.queue.giveBack(batch, lost: answer.rejected, .refused)
                return nil
            case .refused(let detail):
                self.notify("the collector refuses traces", ["detail": "\(detail)"])
                self.queue.giveBack(batch, lost: .max, .refused)
                return nil
            case .later(let detail, let after):
                self.notify("the collector does not accept traces", ["detail": "\(detail)"])
                let wait = pauses.take(asked: after)
                // A gateway that stops does not wait for the collector.
                guard ContinuousClock.now + wait < deadline, !self.isStopping.load(ordering: .relaxed) else {
                    self.queue.giveBack(batch, lost: .max, .failed)
                    return after
                }
                await self.pause(for: wait)
            }
        }
    }

    /// Waits, but no longer than until the gateway stops.
    private func pause(for wait: Duration) async {
        let pause = Task { try await Task.sleep(for: wait) }
        self.pausing.withLock { $0 = pause }
        if self.isStopping.load(ordering: .sequentiallyConsistent) { pause.cancel() }
        await withTaskCancellationHandler {
            _ = await pause.result
        } onCancel: {
            pause.cancel()
        }
    }

    private func attempt(_ body: ByteBuffer) async -> Outcome {
        var call = OutgoingCall("POST", self.url, fields: self.fields, bodyLimit: Self.answerLimit)
        call.longBody = body
        call.timeLimit = self.settings.timeout
        // Collectors recognize repeated spans by their ids.
        call.isHarmlessTwice = true
        do throws(CallError) {
            let answer = try await self.transport.send(call)
            switch answer.status {
            case 200..<300: return .taken(PartialSuccess(answer.body, self.request.form))
            case 429, 502, 503, 504: return .later("status \(answer.status)", after: answer.retryAfter)
            default: return .refused("status \(answer.status)")
            }
        } catch {
            return .later(error.detail, after: nil)
        }
    }

    /// Logs how many spans were dropped since the last such line.
    private func logDropped(_ told: inout UInt64) {
        let dropped = self.queue.lost(.queueFull)
        guard dropped > told else { return }
        let metadata: Logger.Metadata = ["spans": "\(dropped - told)"]
        guard self.notify("spans are dropped: more arrive than the collector accepts in this time", metadata) else {
            return
        }
        told = dropped
    }

    /// - Returns: False if another line was logged within the last minute.
    @discardableResult
    private func notify(_ line: Logger.Message, _ metadata: Logger.Metadata) -> Bool {
        guard let unsaid = self.failures.due() else { return false }
        var metadata = metadata
        if unsaid > 0 { metadata["unsaid"] = "\(unsaid)" }
        self.logger.warning(line, metadata: metadata)
        return true
    }
}
