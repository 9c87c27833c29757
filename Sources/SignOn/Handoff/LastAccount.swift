package import Vocabulary

/// The account that a browser used last, as its cookie shows it.
package enum LastAccount {
    /// Returns the mark to judge a token by. `nil` if the browser shows none. Several different marks match no account,
    /// so that the user is asked: an attacker who plants a second cookie must not turn the question off.
    package static func mark(_ values: Set<[UInt8]>) -> Secret? {
        values.count > 1 ? Secret([]) : values.first.map { Secret($0) }
    }
}
