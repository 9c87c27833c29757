internal import Foundation

/// What is fuzzed. Each target reads any bytes at all and says which promise they broke.
package enum FuzzTarget: String, CaseIterable, Sendable {
    case requestHead = "RequestHead"
    case responseHead = "ResponseHead"
    case chunkedBody = "ChunkedBody"
    case cookie = "Cookie"
    case yaml = "YAML"
    case redisReply = "RedisReply"
    case jose = "JOSE"

    /// The promise that `bytes` broke; nil: none. A crash is the other way to fail.
    package func violation(_ bytes: [UInt8]) -> String? {
        switch self {
        case .requestHead: HeadFuzzing.request(bytes)
        case .responseHead: HeadFuzzing.response(bytes)
        case .chunkedBody: BodyFuzzing.chunked(bytes)
        case .cookie: CookieFuzzing.cookie(bytes)
        case .yaml: SettingsFuzzing.yaml(bytes)
        case .redisReply: ReplyFuzzing.reply(bytes)
        case .jose: JOSEFuzzing.jose(bytes)
        }
    }

    /// One run of libFuzzer; stops the process, as it wants, when a promise was broken.
    package func run(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        if let violation = self.violation(Array(UnsafeBufferPointer(start: data, count: count))) {
            // A release build drops the text of a failed precondition.
            FileHandle.standardError.write(Data("broken promise: \(violation)\n".utf8))
            preconditionFailure(violation)
        }
        return 0
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
