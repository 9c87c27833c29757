package import Vocabulary

/// The account that a browser used last, as its cookie shows it.
package enum LastAccount {
    /// Returns the mark with which a token's account is compared. `nil` if the browser sends no mark. Several different
    /// marks match no account, so that the user is asked: an attacker's second cookie must not turn the question off.
    package static func mark(_ values: Set<[UInt8]>) -> Secret? {
        values.count > 1 ? Secret([]) : values.first.map { Secret($0) }
    }
}
