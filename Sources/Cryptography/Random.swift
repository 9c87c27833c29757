import COpenSSL
import Synchronization

/// Unpredictable bytes from OpenSSL's generator (`RAND_bytes`).
///
/// A failure ends the process, because without randomness tokens could be guessed.
package enum Random {
    /// Returns `count` fresh bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0 && count <= Int(Int32.max), "the count of random bytes is out of range")
        if count <= Stock.largest, let bytes = self.stock.withLockIfAvailable({ $0.take(count) }) { return bytes }
        return self.generated(count)
    }

    /// Returns `byteCount` fresh bytes in base64url.
    package static func base64URL(_ byteCount: Int) -> String {
        Base64URL.encode(Self.bytes(byteCount))
    }

    private static let stock = Mutex(Stock())

    fileprivate static func generated(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            mustSucceed(RAND_bytes(buffer.baseAddress, Int32(count)), "RAND_bytes")
            initialized = count
        }
    }
}

/// Prefetched random bytes, because the generator takes as long for 12 bytes as for 500. No byte is returned twice, and
/// returned bytes are wiped. A thread that finds the stock in use asks the generator instead of waiting.
private struct Stock {
    static let largest = 64
    private static let size = 512

    private var bytes: [UInt8] = []
    private var position = 0

    mutating func take(_ count: Int) -> [UInt8] {
        if self.bytes.count - self.position < count {
            self.bytes = Random.generated(Self.size)
            self.position = 0
        }
        let end = self.position + count
        let taken = Array(self.bytes[self.position..<end])
        for index in self.position..<end { self.bytes[index] = 0 }
        self.position = end
        return taken
    }
}
