import Dispatch
import Foundation
import Synchronization
package import TestSupport

/// What is fuzzed. Each target reads any bytes at all and says which promise they broke.
package enum FuzzTarget: String, CaseIterable, Sendable {
    case requestHead = "RequestHead"
    case proxyPreamble = "ProxyPreamble"
    case check = "Check"
    case http2Head = "HTTP2Head"
    case http2Frames = "HTTP2Frames"
    case responseHead = "ResponseHead"
    case chunkedBody = "ChunkedBody"
    case cookie = "Cookie"
    case yaml = "YAML"
    case redisReply = "RedisReply"
    case jose = "JOSE"
    case claims = "Claims"
    case providerDocuments = "ProviderDocuments"
    case kratos = "Kratos"
    case clientMetadata = "ClientMetadata"
    case scim = "SCIM"
    case ruleEvents = "RuleEvents"
    case records = "Records"
    case traces = "Traces"

    /// The promise that `bytes` broke; nil: none. A crash is the other way to fail.
    package func violation(_ bytes: [UInt8]) async -> String? {
        switch self.reader {
        case .prompt(let read): read(bytes)
        case .asking(let read): await read(bytes)
        }
    }

    /// An input as chance has it; nil for a target whose inputs are no documents.
    package func sample(_ chance: inout ArbitraryJSON) -> [UInt8]? {
        switch self {
        case .claims: ClaimsFuzzing.sample(&chance)
        case .providerDocuments: ProviderFuzzing.sample(&chance)
        case .kratos: KratosFuzzing.sample(&chance)
        case .clientMetadata: ClientFuzzing.sample(&chance)
        case .scim: SCIMFuzzing.sample(&chance)
        case .ruleEvents: RuleFuzzing.sample(&chance)
        case .records: RecordFuzzing.sample(&chance)
        default: nil
        }
    }

    private enum Reader {
        case prompt(([UInt8]) -> String?)
        /// It asks a provider.
        case asking(@Sendable ([UInt8]) async -> String?)
    }

    private var reader: Reader {
        switch self {
        case .requestHead: .prompt(HeadFuzzing.request)
        case .proxyPreamble: .prompt(PreambleFuzzing.preamble)
        case .check: .prompt(HeadFuzzing.check)
        case .http2Head: .prompt(HTTP2HeadFuzzing.head)
        case .http2Frames: .prompt(HTTP2FrameFuzzing.frames)
        case .responseHead: .prompt(HeadFuzzing.response)
        case .chunkedBody: .prompt(BodyFuzzing.chunked)
        case .cookie: .prompt(CookieFuzzing.cookie)
        case .yaml: .prompt(SettingsFuzzing.yaml)
        case .redisReply: .prompt(ReplyFuzzing.reply)
        case .jose: .prompt(JOSEFuzzing.jose)
        case .claims: .prompt(ClaimsFuzzing.claims)
        case .providerDocuments: .asking(ProviderFuzzing.document)
        case .kratos: .asking(KratosFuzzing.answer)
        case .clientMetadata: .prompt(ClientFuzzing.metadata)
        case .scim: .prompt(SCIMFuzzing.body)
        case .ruleEvents: .prompt(RuleFuzzing.rules)
        case .records: .prompt(RecordFuzzing.record)
        case .traces: .prompt(TraceFuzzing.trace)
        }
    }

    /// One run of libFuzzer; stops the process, as it wants, when a promise was broken.
    package func run(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        let bytes = Array(UnsafeBufferPointer(start: data, count: count))
        let violation =
            switch self.reader {
            case .prompt(let read): read(bytes)
            case .asking(let read): Self.waiting { await read(bytes) }
            }
        if let violation {
            // A release build drops the text of a failed precondition.
            FileHandle.standardError.write(Data("broken promise: \(violation)\n".utf8))
            preconditionFailure(violation)
        }
        return 0
    }

    /// The result of a task, for a thread that no task needs.
    private static func waiting(_ body: @escaping @Sendable () async -> String?) -> String? {
        let result = Result()
        Task.detached {
            let value = await body()
            result.value.withLock { $0 = value }
            result.isThere.signal()
        }
        result.isThere.wait()
        return result.value.withLock { $0 }
    }

    private final class Result: Sendable {
        let value = Mutex<String?>(nil)
        let isThere = DispatchSemaphore(value: 0)
    }
}

extension Array where Element == UInt8 {
    /// Lends a copy that has not a byte more, so that a sanitizer sees any look beyond the end.
    func withExactCopy<Value>(_ body: (UnsafePointer<UInt8>, Int) -> Value) -> Value {
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: Swift.max(1, self.count))
        defer { copy.deallocate() }
        copy.initialize(to: 0)
        self.withUnsafeBufferPointer { source in
            if let start = source.baseAddress { copy.update(from: start, count: source.count) }
        }
        return body(UnsafePointer(copy), self.count)
    }
}
