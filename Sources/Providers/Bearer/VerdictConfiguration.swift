import Cryptography

/// The digest of settings that decide about tokens (`TokenProvider.configuration`).
enum VerdictConfiguration {
    /// Returns a digest of the parts. It is the same on every gateway.
    static func text(_ parts: [String]) -> String {
        var bytes: [UInt8] = []
        for part in parts { bytes += Array("\(part.utf8.count) \(part)".utf8) }
        return SHA256.digest(bytes).base64URL
    }
}
