import Cryptography

/// The name of the settings that decide about tokens (`TokenProvider.configuration`).
enum VerdictConfiguration {
    /// Returns a short text that is equal for equal parts on every gateway, and differs for others.
    static func text(_ parts: [String]) -> String {
        var bytes: [UInt8] = []
        for part in parts { bytes += Array("\(part.utf8.count) \(part)".utf8) }
        return SHA256.digest(bytes).base64URL
    }
}
